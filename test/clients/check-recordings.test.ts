import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { check } from '../../src/check/check.ts'
import { listenOnLoopback } from '../support/upstream/loopback.ts'

const folder = new URL('../../../shared/vectors/recordings/', import.meta.url)
const hint = existsSync(folder) ? '' : ' (skipped: ../shared/vectors is not there)'

/** Replies of official servers, and the checks of their form alone: the others compare replies of one server. */
const recorded = [
  { path: '/v1/chat/completions', name: 'openai/chat-openai-text' },
  { path: '/v1/chat/completions', name: 'deepseek/chat-deepseek-text' },
  { path: '/v1/chat/completions', name: 'deepseek/chat-deepseek-reasoning' },
  { path: '/v1/chat/completions', name: 'deepseek/chat-deepseek-tool-call' },
  { path: '/v1/chat/completions', name: 'mistral/mistral-text' },
  { path: '/v1/completions', name: 'openai/completion-openai-completion-text' },
  { path: '/v1/messages', name: 'anthropic/anthropic-text' },
  { path: '/v1/messages', name: 'anthropic/anthropic-tool-no-args' },
  // Without the numbers of its events, which the recording lacks.
  { path: '/v1/responses', name: 'openai/responses-openai-custom-tool.1' },
]
const chat = ['form', 'text', 'content-type', 'cached'].map((id) => `chat-${id}`)
const streams = ['content-type', 'json', 'framing', 'form', 'done', 'id', 'role', 'finish', 'usage', 'usage-once'].map(
  (id) => `streams-${id}`,
)
const messages = ['form', 'event-names', 'order', 'start', 'ending'].map((id) => `messages-${id}`)
const responses = ['form', 'event-names', 'order', 'items', 'ending'].map((id) => `responses-${id}`)
const only = [...chat, ...streams, 'usage-sums', 'completions-form', ...messages, ...responses]

test.skipIf(hint !== '').each(recorded)(
  `nothing is wrong with a recorded reply of an official server: $name${hint}`,
  async ({ path, name }) => {
    const read = (ending: string) => readFileSync(new URL(`${name}.${ending}`, folder), 'utf8')
    const events = read('chunks.txt')
      .split('\n')
      .filter((line) => line.trim() !== '')
    const isNamed = path === '/v1/messages' || path === '/v1/responses'
    const stream =
      events.map((data) => `${isNamed ? `event: ${JSON.parse(data).type}\n` : ''}data: ${data}\n\n`).join('') +
      (isNamed ? '' : 'data: [DONE]\n\n')
    const { origin, close } = await listenOnLoopback(async (request, response) => {
      let body = ''
      for await (const piece of request) body += piece
      const isStream = body.includes('"stream":true')
      const reply = (status: number, type: string, text: string) => response.writeHead(status, { 'content-type': type }).end(text)
      if (request.url === '/v1/models') reply(200, 'application/json', '{"object":"list","data":[{"id":"m","object":"model"}]}')
      else if (request.url !== path) reply(404, 'application/json', '{"error":{"message":"no such route"}}')
      else reply(200, isStream ? 'text/event-stream' : 'application/json', isStream ? stream : read('json'))
    })
    const { results } = await check({ url: origin, only })
    await close()
    expect(results.filter(({ outcome }) => outcome === 'finding').map(({ id, why }) => `${id}: ${why}`)).toEqual([])
    expect(results.filter(({ outcome }) => outcome === 'holds').length).toBeGreaterThan(0)
  },
)
