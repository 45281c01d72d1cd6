import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cancelEngines, type EngineUnderCancel, openEngineUnderCancel } from '../../support/cancel-engines.ts'
import { until } from '../../support/http/app.ts'
import { dataOf, openChat } from '../../support/http/raw-client.ts'
import { soon } from '../../support/process/stall-bound.ts'

const long = 'lorem ipsum dolor sit amet consectetur '.repeat(130)
const slots = 2

describe.each(cancelEngines)('a cancel of what the engine %s runs', (engine) => {
  let served: EngineUnderCancel
  beforeAll(async () => {
    served = await openEngineUnderCancel(engine, slots)
    await post('/v1/chat/completions', { ...body('hi'), max_tokens: 2 })
  })
  afterAll(() => served.close())

  const body = (content: string, more: object = {}) => ({
    model: 'm',
    messages: [{ role: 'user', content }],
    ignore_eos: true,
    ...more,
  })
  async function post(path: string, sent: object): Promise<Record<string, unknown>> {
    const headers = { 'content-type': 'application/json' }
    const reply = await fetch(`${served.app.url}${path}`, { method: 'POST', headers, body: JSON.stringify(sent) })
    return (await reply.json()) as Record<string, unknown>
  }
  const cancel = (keys: object) => post('/api/inference/cancel', keys)
  const isFree = async () => (await served.busy()) === 0
  const isRunning = () => served.app.metric('dragoman_slots_busy{model="m"}').then((count) => count > 0)
  const servesNext = async () =>
    expect(await post('/v1/chat/completions', { ...body('hi'), max_tokens: 3 })).toMatchObject({
      usage: { completion_tokens: 3 },
    })

  test.each([true, false])('C24, C26, C36: while the prompt is read, frees the slot (stream: %s)', async (stream) => {
    const reply = openChat(served.app.url, body(long, { stream, cancel_id: `prefill-${stream}` }))
    await until(isRunning)
    await soon(async () => {
      expect(await cancel({ cancel_id: `prefill-${stream}` })).toEqual({ cancelled: 1 })
      await Promise.all([until(isFree), reply.ended])
    })
    expect(reply.text()).toContain('"finish_reason":"length"')
    await servesNext()
  })

  test('C24, C25, C38, C39: while it generates, ends the stream as truncated, and no other', async () => {
    const other = openChat(served.app.url, body('one', { stream: true, max_tokens: 200 }))
    const stream = openChat(served.app.url, body('two', { stream: true, cancel_id: 'decode' }))
    await stream.untilContent()
    await soon(async () => {
      expect(await cancel({ cancel_id: 'decode' })).toEqual({ cancelled: 1 })
      await stream.ended
    })
    expect(stream.text()).toMatch(/"finish_reason":"length".*data: \[DONE\]\n\n$/s)
    expect(dataOf(stream.text()).some(({ error }) => error !== undefined)).toBe(false)
    await other.ended
    expect(dataOf(other.text()).filter(({ choices }) => choices?.[0]?.delta.content).length).toBeGreaterThan(50)
    expect(other.text()).toContain('[DONE]')
    await until(isFree)
  })

  test('C7, C8: by a session ends all of its runs; by a cancel id, one of them', async () => {
    const open = (id: string) => openChat(served.app.url, body('go', { stream: true, session_id: 's', cancel_id: id }))
    const [first, second] = [open('a'), open('b')]
    await Promise.all([first.untilContent(), second.untilContent()])
    expect(await cancel({ cancel_id: 'a', session_id: 's' })).toEqual({ cancelled: 1 })
    await first.ended
    const before = second.text().length
    await until(() => second.text().length > before)
    const third = open('c')
    await third.untilContent()
    await soon(async () => {
      expect(await cancel({ session_id: 's' })).toEqual({ cancelled: 2 })
      await Promise.all([second.ended, third.ended, until(isFree)])
    })
  })

  test('C18, C23: that comes before its request asks nothing of the engine', async () => {
    expect(await cancel({ cancel_id: 'early' })).toEqual({ cancelled: 0 })
    const stream = openChat(served.app.url, body('go', { stream: true, cancel_id: 'early' }))
    await stream.ended
    expect(stream.text()).toMatch(/"role":"assistant".*"finish_reason":"length".*\[DONE\]/s)
    expect(stream.text()).not.toMatch(/"content":"[^"]/)
    expect(await isFree()).toBe(true)
  })

  test.each(['', long])('C35, C36: by hanging up, also without a stream, frees the slot (prompt of %#)', async (prompt) => {
    for (const stream of [true, false]) {
      const left = openChat(served.app.url, body(`${prompt}go`, { stream }))
      await until(isRunning)
      await soon(() => {
        left.hangUp()
        return until(isFree)
      })
    }
    await servesNext()
  })

  test('C29, C32: the next request sees nothing of one that was stopped', async () => {
    const ask = async () => {
      const { choices } = await post('/v1/chat/completions', { ...body('What is this?'), max_tokens: 12, temperature: 0 })
      return JSON.stringify(choices)
    }
    const alone = await ask()
    for (let turn = 0; turn < 5; turn += 1) {
      const stream = openChat(served.app.url, body('What is that?', { stream: true, cancel_id: `turn-${turn}` }))
      await stream.untilContent()
      await cancel({ cancel_id: `turn-${turn}` })
      await stream.ended
      expect(await ask()).toBe(alone)
    }
  })

  test('C15, C16: of 200 requests whose clients leave, nothing is left', async () => {
    for (let from = 0; from < 200; from += 25) {
      const requests = Array.from({ length: 25 }, (_, index) =>
        openChat(served.app.url, body(`${from + index}`, { stream: index % 2 === 0 })),
      )
      await requests[0]?.untilContent()
      for (const request of requests) request.hangUp()
      await Promise.all(requests.map(({ ended }) => ended))
    }
    await until(isFree)
    await until(async () => (await served.app.metric('dragoman_queue_depth{model="m"}')) === 0)
    await servesNext()
  })
})
