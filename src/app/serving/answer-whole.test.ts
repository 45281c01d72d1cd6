import { expect, test } from 'vitest'
import { anyone } from '../../../test/support/http/context.ts'
import { openTestServer } from '../../../test/support/http/test-server.ts'
import { AppError } from '../../contract/errors.ts'
import { createFakeEngine } from '../../engine/fake/engine.ts'
import type { Sender } from '../../http/check-requests.ts'
import { answerWhole } from './answer-fetch.ts'

const fake = createFakeEngine({ script: 'from-request' })
const sender: Sender = { principal: anyone, batch: 'b', onRead: () => undefined }
const chat = '/v1/chat/completions'

function requestOf(url: string, body: object, signal = new AbortController().signal) {
  return { method: 'POST', url, headers: { host: 'x', 'content-type': 'application/json' }, body: JSON.stringify(body), signal }
}

function asked(content: string): object {
  return { model: 'default', max_tokens: 9, messages: [{ role: 'user', content }] }
}

// Anthropic's errors have no code: a batch would take an answer that breaks its schema for a server that is away.
test.each([chat, '/v1/completions', '/v1/messages', '/v1/responses'])(
  'who sends a line without a socket learns why it failed: %s',
  async (url) => {
    const prepare = async () => ({ run: () => Promise.reject(new AppError('invalid-output', 'it breaks its schema')) })
    const failures: string[] = []
    const prompts: Readonly<Record<string, object>> = {
      '/v1/completions': { model: 'default', prompt: 'hi' },
      '/v1/responses': { model: 'default', input: 'hi', store: false },
    }
    const server = openTestServer({ engine: { ...fake, prepare } })
    const from = { ...sender, onFailed: (code: string) => failures.push(code) }
    const { status } = await answerWhole(server, { ...requestOf(url, prompts[url] ?? asked('hi')), sender: from })
    expect([status, failures]).toEqual([502, ['invalid-output']])
  },
)

test('a reply that Fastify sends in pieces comes as one text', async () => {
  const content = 'é€𝄞'.repeat(100_000)
  const body = { model: 'default', messages: [{ role: 'user', content }] }
  const reply = await answerWhole(openTestServer({ engine: fake }), requestOf(chat, body))
  expect(reply).toMatchObject({ status: 200, headers: { 'content-type': 'application/json; charset=utf-8' } })
  expect(JSON.parse(reply.body)).toMatchObject({ choices: [{ message: { content } }] })
})

test('a body and its headers are checked as if they had come through a socket', async () => {
  const server = openTestServer({ engine: fake })
  const good = requestOf(chat, asked('hi'))
  const headers = { ...good.headers, 'content-type': 'text/plain' }
  const [type, cut, long] = await Promise.all([
    answerWhole(server, { ...good, headers }),
    answerWhole(server, { ...good, body: '{"model": ' }),
    answerWhole(server, { ...good, body: `"${'a'.repeat(33 * 1024 * 1024)}"` }),
  ])
  expect([type.status, cut.status, long.status]).toEqual([415, 400, 413])
})

test('aborting it ends its generation, and there is no reply', async () => {
  const stop = new AbortController()
  let ended: (() => void) | undefined
  const hasEnded = new Promise<void>((resolve) => {
    ended = resolve
  })
  const prepare = async () => ({
    run: (signal: AbortSignal) =>
      new Promise<never>((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          ended?.()
          reject(signal.reason)
        })
        setTimeout(() => stop.abort(new Error('enough')))
      }),
  })
  const server = openTestServer({ engine: { ...fake, prepare } })
  await expect(answerWhole(server, requestOf(chat, asked('hi'), stop.signal))).rejects.toThrow('enough')
  await hasEnded
})

test('many requests, one after the other, let others have their turns', async () => {
  const server = openTestServer({ engine: fake })
  const send = () => answerWhole(server, requestOf(chat, asked('hi')))
  await send()
  let turns = 0
  const others = setInterval(() => {
    turns += 1
  }, 1)
  const untilMs = performance.now() + 300
  while (performance.now() < untilMs) await send()
  clearInterval(others)
  expect(turns).toBeGreaterThan(3)
})
