import { expect, test } from 'vitest'
import { chatBody, openTestServer } from '../../../test/support/http/test-server.ts'
import { hashApiKey } from '../../app/keys/made-keys.ts'
import type { Engine } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import type { Scope } from '../../contract/principal.ts'
import { allScopes } from '../../contract/principal.ts'
import { createFakeEngine } from '../../engine/fake/engine.ts'

const key = 'sk-dragoman-test'
const fake = () => createFakeEngine({ script: 'from-request' })
const chat = { method: 'POST', url: '/v1/chat/completions', headers: { 'content-type': 'application/json' } } as const

function logged(lines: readonly string[]): Record<string, unknown>[] {
  return lines.map((line) => JSON.parse(line))
}

test.each([true, false])(
  'the last log line of a generation has the id of its reply and its model (stream: %s)',
  async (stream) => {
    const { app, logLines } = openTestServer()
    const { body } = await app.inject({ ...chat, payload: chatBody('hi', { stream }) })
    const generationId = /"id":"(chatcmpl-[^"]+)"/.exec(body)?.[1]
    expect(logged(logLines)).toContainEqual(
      expect.objectContaining({ msg: 'request ended', status: 200, generationId, model: 'org/fake' }),
    )
  },
)

test.each([true, false])('it has tokens, finish reason, the requested name and the key too (stream: %s)', async (stream) => {
  const apiKeys = [{ hash: hashApiKey(key), name: 'laptop', scopes: allScopes }]
  const { app, logLines } = openTestServer({ auth: { apiKeys } })
  await app.inject({
    ...chat,
    headers: { ...chat.headers, 'x-api-key': key },
    payload: chatBody('a b c', { stream, max_tokens: 2 }),
  })
  expect(logged(logLines)).toContainEqual(
    expect.objectContaining({
      msg: 'request ended',
      key: 'laptop',
      requestedModel: 'default',
      finishReason: 'length',
      inputTokens: 3,
      cachedInputTokens: 0,
      outputTokens: 2,
      ttftMs: expect.any(Number),
      requestId: expect.any(String),
    }),
  )
})

test('a failure is logged with the code that its client sees, and with a stack only if it should not happen', async () => {
  const failures = [
    [new AppError('model-unavailable', 'gone', { cause: new Error('inner') }), 'model_unavailable', 40],
    [new AppError('engine-failed', 'broke'), 'engine_failed', 50],
  ] as const
  for (const [failure, code, level] of failures) {
    const { app, logLines } = openTestServer({ engine: { ...fake(), prepare: () => Promise.reject(failure) } })
    await app.inject({ ...chat, payload: chatBody('hi') })
    const entry = logged(logLines).find(({ msg }) => msg === 'request failed')
    expect(entry).toMatchObject({ code, level, requestId: expect.any(String) })
    expect(JSON.stringify(entry).includes('stack')).toBe(level === 50)
    if (level === 40) expect(entry).toMatchObject({ reason: 'gone', cause: 'inner' })
  }
})

test.each([true, false])("where this server's files are is for its log and its operators (stream: %s)", async (stream) => {
  const failure = new AppError(
    'model-unavailable',
    "model 'm' could not be loaded: /home/me/models/nope.gguf: there is no such file",
  )
  const keyOf = (text: string, scope: Scope) => ({ hash: hashApiKey(text), scopes: new Set([scope]) })
  const { app, logLines } = openTestServer({
    engine: { ...fake(), prepare: () => Promise.reject(failure) },
    auth: { apiKeys: [keyOf('client', 'inference'), keyOf('operator', 'admin')] },
  })
  const ask = async (text: string) =>
    (await app.inject({ ...chat, headers: { ...chat.headers, 'x-api-key': text }, payload: chatBody('hi', { stream }) })).body
  expect(await ask('client')).toContain("model 'm' could not be loaded: …/nope.gguf: there is no such file")
  expect(await ask('operator')).toContain('/home/me/models/nope.gguf')
  expect(logged(logLines)).toContainEqual(
    expect.objectContaining({ reason: expect.stringContaining('/home/me/models/nope.gguf') }),
  )
})

test.each([true, false])(
  'what the chat template does not show is named among the ignored fields (stream: %s)',
  async (stream) => {
    const engine: Engine = { ...fake(), facts: { chatTemplate: '{% for m in messages %}{{ m.content }}{% endfor %}' } }
    const messages = [{ role: 'user', content: 'hi', name: 'ann', more: 1 }]
    const payload = JSON.stringify({ model: 'default', messages, reasoning_effort: 'high', stream })
    const { headers } = await openTestServer({ engine }).app.inject({ ...chat, payload })
    expect(headers['x-dragoman-ignored']).toBe('messages[].more, messages[].name, reasoning_effort')
  },
)

test('log lines of other requests have no generation', async () => {
  const { app, logLines } = openTestServer()
  await app.inject('/v1/models')
  const ended = logged(logLines).filter(({ msg }) => msg === 'request ended')
  expect(ended.map((line) => [line.route, 'generationId' in line])).toEqual([['/v1/models', false]])
})

test('a refused request is logged without its message, which may quote the prompt', async () => {
  const { app, logLines } = openTestServer()
  await app.inject({ ...chat, payload: chatBody('x', { temperature: 'a private word' }) })
  expect(logged(logLines)).toContainEqual(expect.objectContaining({ level: 30, code: 'invalid_request', param: 'temperature' }))
  expect(logLines.join('')).not.toContain('private')
})
