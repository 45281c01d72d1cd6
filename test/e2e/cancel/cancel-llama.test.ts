import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasPods, type RunningApp, startApp, until } from '../../support/http/app.ts'
import { randomModel } from '../../support/llama/models.ts'

let app: RunningApp
beforeAll(async () => {
  const source = await randomModel()
  app = await startApp({ models: [{ id: 'm', engine: 'llama', source, contextLength: 4096, threads: 1, slots: 1 }] })
})
afterAll(() => app.close())

const busy = () => app.metric('dragoman_slots_busy{model="m"}')

async function post(path: string, body: object): Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  return (await fetch(`${app.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).json()
}

describe('a cancel by key of what the embedded engine runs', () => {
  const long = 'lorem ipsum dolor sit amet consectetur '.repeat(130)
  test.each([
    ['while it reads a long prompt', long],
    ['while it generates', 'go'],
  ])('%s, keeps the output, frees the slot, and the next request is served', async (_stage, content) => {
    const body = { model: 'm', messages: [{ role: 'user', content }], ignore_eos: true, session_id: content.slice(0, 5) }
    const reply = post('/v1/chat/completions', body)
    await until(async () => (await busy()) === 1)
    expect(await post('/api/inference/cancel', { session_id: content.slice(0, 5) })).toEqual({ cancelled: 1 })
    expect(await reply).toMatchObject({ choices: [{ finish_reason: 'length' }] })
    await until(async () => (await busy()) === 0)
    const next = await post('/v1/chat/completions', { model: 'm', messages: [{ role: 'user', content: 'hi' }], max_tokens: 3 })
    expect(next).toMatchObject({ usage: { completion_tokens: 3 } })
  })

  test.skipIf(hasPods)('is in the log with the tokens that were generated after it, as the metric counts them', async () => {
    const stops = app.logLines().filter(({ msg }) => msg === 'request stopped')
    expect(stops).toMatchObject([
      { reason: 'requested', model: 'm', lateTokens: expect.any(Number) },
      { reason: 'requested', model: 'm', lateTokens: expect.any(Number) },
    ])
    const late = stops.reduce((sum, stop) => sum + Number(Reflect.get(stop, 'lateTokens')), 0)
    expect(await app.metric('dragoman_tokens_after_cancel_total{model="m"}')).toBe(late)
  })
})
