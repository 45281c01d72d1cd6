import { describe, expect, test } from 'vitest'
import { until } from '../../../test/support/http/app.ts'
import { eventsOf, openResponsesServer, openStream, type WireResponse } from '../../../test/support/http/responses-server.ts'
import { readAll, readUntil } from '../../../test/support/http/test-server.ts'

const slowWords = JSON.stringify({ chunks: ['one ', 'two ', 'three ', 'four'], delayMs: 60 })

async function openBackground(input = slowWords) {
  const server = await openResponsesServer()
  const port = await server.listen()
  const { request, response } = await openStream(port, { input, background: true })
  const id = eventsOf(await readUntil(response, 'response.created'))[0]?.response?.id ?? ''
  const read = async () => (await server.call('GET', `/v1/responses/${id}`)).body as WireResponse
  const resume = async (query = '') => eventsOf((await server.call('GET', `/v1/responses/${id}?stream=true${query}`)).text)
  return { ...server, port, request, response, id, read, resume }
}

describe('the stream of a background response', () => {
  test('is joined while it runs, from the number that was seen last', async () => {
    const { request, resume } = await openBackground()
    request.destroy()
    const events = await resume('&starting_after=2')
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index + 3))
    expect(events.map(({ delta }) => delta ?? '').join('')).toBe('one two three four')
    expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: { status: 'completed' } })
  })

  test('is the same when it is read after its end, and when two clients read it', async () => {
    const { response, resume } = await openBackground()
    const live = eventsOf(await readAll(response))
    const [again, other] = await Promise.all([resume(), resume()])
    expect(again.slice(-live.length)).toEqual(live)
    expect(other).toEqual(again)
  })

  test('in another process follows what is stored there, to its end', async () => {
    const first = await openBackground()
    const second = await openResponsesServer({ store: first.store })
    const path = `/v1/responses/${first.id}?stream=true`
    const joined = eventsOf((await second.call('GET', path)).text)
    expect(joined).toEqual(await first.resume())
    expect(joined.at(-1)?.type).toBe('response.completed')
  })

  test('ends with a failure where its process died', async () => {
    const { store, id, read, response } = await openBackground()
    response.resume()
    await until(async () => (await read()).status === 'completed')
    const stored = await store.responses.find('anyone', id)
    if (stored === undefined) throw new Error('nothing was stored')
    const lost = { ...stored, id: 'resp_lost', status: 'in_progress' as const, leaseUntilMs: 1 }
    await store.responses.save({ ...lost, json: { ...stored.json, id: 'resp_lost', status: 'in_progress' } })
    await store.responses.addEvents('resp_lost', (await store.responses.events('anyone', id, -1, 4)).slice(0, 4))
    const other = await openResponsesServer({ store })
    const events = eventsOf((await other.call('GET', '/v1/responses/resp_lost?stream=true')).text)
    expect(events).toHaveLength(5)
    expect(events.at(-1)).toMatchObject({ type: 'response.failed', sequence_number: 4, response: { status: 'failed' } })
  })

  test('is cancelled from another process', async () => {
    const { store, id, response, read } = await openBackground(JSON.stringify({ raw: 'late', delayMs: 3_600_000 }))
    response.resume()
    const other = await openResponsesServer({ store })
    expect(await other.call('POST', `/v1/responses/${id}/cancel`)).toMatchObject({ status: 200, body: { status: 'cancelled' } })
    expect((await read()).status).toBe('cancelled')
  })
})

test('a background response that another process deletes does not come back', async () => {
  const { store, id, response, call, watched } = await openBackground(JSON.stringify({ raw: 'late', delayMs: 3_600_000 }))
  response.resume()
  await watched.started()
  const other = await openResponsesServer({ store })
  expect((await other.call('DELETE', `/v1/responses/${id}`)).status).toBe(200)
  expect(await watched.ended()).toEqual({ aborted: true })
  await until(async () => (await call('GET', `/v1/responses/${id}`)).status === 404)
  expect((await other.call('GET', `/v1/responses/${id}`)).status).toBe(404)
})

describe('the stream of any other response', () => {
  test('is made again from what was stored', async () => {
    const { call, listen } = await openResponsesServer()
    const streamed = await openStream(await listen(), { input: 'one two' })
    const original = eventsOf(await readAll(streamed.response))
    const again = eventsOf((await call('GET', `/v1/responses/${original[0]?.response?.id}?stream=true`)).text)
    const types = (events: typeof again) => [...new Set(events.map(({ type }) => type))]
    expect(types(again)).toEqual(types(original))
    expect(again.at(-1)?.response).toEqual(original.at(-1)?.response)
  })

  test('has no numbers to start after', async () => {
    const { create, call } = await openResponsesServer()
    const { id } = await create({ input: 'hi' })
    const { status, body } = await call('GET', `/v1/responses/${id}?stream=true&starting_after=3`)
    expect([status, body]).toMatchObject([400, { error: { param: 'starting_after' } }])
  })

  test.each([['stream=maybe'], ['stream=true&starting_after=-1'], ['stream=true&starting_after=x']])(
    '%s is refused',
    async (query) => {
      const { call } = await openResponsesServer()
      expect((await call('GET', `/v1/responses/resp_1?${query}`)).status).toBe(400)
    },
  )
})
