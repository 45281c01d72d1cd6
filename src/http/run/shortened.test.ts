import { describe, expect, test } from 'vitest'
import { openTestServer } from '../../../test/support/http/test-server.ts'
import { createFakeEngine } from '../../engine/fake/engine.ts'

/** One word, and an answer that is longer than the context of 50 words. */
const script = JSON.stringify({ chunks: Array.from({ length: 100 }, () => 'x') })
const messages = [{ role: 'user', content: script }]
const limit = 32_000

type Reply = Readonly<Record<string, unknown>> & {
  readonly choices: readonly { readonly finish_reason: string }[]
  readonly results: readonly { readonly finish_reason: string }[]
}

/** The route, its body, the name of its limit, and where its reply says why it ended. */
const routes: readonly (readonly [string, object, string, (body: Reply) => unknown, string])[] = [
  ['/v1/chat/completions', { messages, max_tokens: limit }, 'max_tokens', (b) => b.choices[0]?.finish_reason, 'length'],
  ['/v1/completions', { prompt: script, max_tokens: limit }, 'max_tokens', (b) => b.choices[0]?.finish_reason, 'length'],
  ['/v1/responses', { input: script, max_output_tokens: limit }, 'max_output_tokens', (b) => b.status, 'incomplete'],
  ['/v1/messages', { messages, max_tokens: limit }, 'max_tokens', (b) => b.stop_reason, 'model_context_window_exceeded'],
  ['/completion', { prompt: script, n_predict: limit }, 'n_predict', (b) => b.stop_type, 'limit'],
  ['/api/v1/generate', { prompt: script, max_length: limit }, 'max_length', (b) => b.results[0]?.finish_reason, 'length'],
  [
    '/api/chat',
    { messages, stream: false, options: { num_predict: limit } },
    'options.num_predict',
    (b) => b.done_reason,
    'length',
  ],
]

const open = (more: object = {}) =>
  openTestServer({ engine: createFakeEngine({ script: 'from-request', contextLength: 50 }), ...more })

describe.each(routes)('on %s, an output limit beyond the context', (url, body, name, reasonOf, reason) => {
  const payload = { model: 'default', ...body }

  test('gives way to what there is room for, and the reply says so', async () => {
    const { app, scheduler } = open()
    const reply = await app.inject({ method: 'POST', url, payload })
    expect([reply.statusCode, reasonOf(reply.json())]).toEqual([200, reason])
    const header = String(reply.headers['x-dragoman-shortened'])
    expect(header).toMatch(/^[\w.]+;asked=32000;room=\d+$/)
    const [, named, room] = /^([\w.]+);.*room=(\d+)$/.exec(header) ?? []
    expect([named, Number(room) > 0 && Number(room) < 50]).toEqual([name, true])
    expect(scheduler.load).toMatchObject({ busy: 0, queued: 0 })
  })

  test('is named in the header of a stream, too', async () => {
    const { app } = open()
    const reply = await app.inject({ method: 'POST', url, payload: { ...payload, stream: true } })
    expect([reply.statusCode, reply.headers['x-dragoman-shortened']]).toEqual([
      200,
      expect.stringContaining(';asked=32000;room='),
    ])
  })

  test('is refused with all numbers where the operator wants that', async () => {
    const reply = await open({ shortensOutput: false }).app.inject({ method: 'POST', url, payload })
    expect(reply.statusCode).toBe(400)
    expect(reply.body).toMatch(/50.*32000|32000.*50/)
  })

  test('does not help a prompt that is too long: the error has the numbers', async () => {
    const long = JSON.stringify(payload).replace(JSON.stringify(script), JSON.stringify('word '.repeat(70)))
    const reply = await open().app.inject({ method: 'POST', url, payload: JSON.parse(long) })
    expect(reply.statusCode).toBe(400)
    expect(reply.body).toMatch(/50/)
    expect(reply.body).toMatch(/7\d/)
  })
})

test('a limit that fits is not named', async () => {
  const payload = { model: 'default', messages: [{ role: 'user', content: 'a' }], max_tokens: 20 }
  const reply = await open().app.inject({ method: 'POST', url: '/v1/chat/completions', payload })
  expect([reply.statusCode, reply.headers['x-dragoman-shortened']]).toEqual([200, undefined])
})
