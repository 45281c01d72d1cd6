import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { until } from '../../support/http/app.ts'
import { openWatchedServer, readAll, receive, sendChat } from '../../support/http/test-server.ts'

const streams = 500
const cancelled = 400
const words = Array.from({ length: 30 }, (_, index) => `w${index} `)
const script = JSON.stringify({ chunks: words, delayMs: 10 })

/** Numbers that look random, and are the same in each run. */
function createRandom(): () => number {
  let state = 42
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}

const messages = [{ role: 'user', content: script }]
const protocols: readonly { readonly path: string; readonly body: object; readonly end: RegExp }[] = [
  { path: '/v1/chat/completions', body: { model: 'default', messages }, end: /"finish_reason":"(stop|length)".*\[DONE\]/s },
  { path: '/v1/responses', body: { model: 'default', input: script }, end: /response\.(completed|incomplete)/ },
  { path: '/v1/messages', body: { model: 'default', messages, max_tokens: 99 }, end: /message_stop/ },
  { path: '/v1/inference/chat-completion', body: { model_id: 'default', messages }, end: /"event_type":"complete"/ },
]

test('of 500 streams of all protocols, 400 are cancelled at random times, and the others are complete', async () => {
  const { port, deps, scheduler } = await openWatchedServer({ slots: 32, maxQueued: streams })
  const random = createRandom()

  /** The text of the stream, or undefined where its client left. */
  async function run(index: number): Promise<string | undefined> {
    const { path, body } = protocols[index % protocols.length] ?? { path: '', body: {} }
    const keys = { cancel_id: `run-${index}`, session_id: `session-${index}` }
    const request = sendChat(port, JSON.stringify({ ...body, ...keys, stream: true }), { path, agent: false })
    const isCancelled = index < cancelled
    const reading = receive(request).then(readAll)
    if (!isCancelled) return reading
    await pause(random() * 1500)
    if (index % 3 === 0) {
      reading.catch(() => undefined)
      request.destroy()
      return undefined
    }
    const key = index % 3 === 1 ? { cancel_id: keys.cancel_id } : { session_id: keys.session_id }
    await readAll(await receive(sendChat(port, JSON.stringify(key), { path: '/api/inference/cancel', agent: false })))
    return reading
  }

  const texts = await Promise.all(Array.from({ length: streams }, (_, index) => run(index)))
  for (const [index, text] of texts.entries()) {
    if (text === undefined) continue
    expect(text).toMatch(protocols[index % protocols.length]?.end ?? /never/)
    expect(text).not.toMatch(/"error":\{|"type":"error"/)
    if (index >= cancelled) for (const word of words) expect(text).toContain(word.trim())
  }
  await until(() => deps.cancellations.size === 0)
  expect(scheduler.load).toMatchObject({ busy: 0, queued: 0 })
})
