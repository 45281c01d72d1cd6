import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { streamed } from '../support/process/measured.ts'
import { createServeHome } from '../support/process/serve-process.ts'
import { startUpstream } from '../support/upstream/upstream.ts'

// V8 11 (Node 20) makes a hidden class for each field that follows a spread at the beginning of an object, such as `status` in
// `{ ...response, status }`, anew whenever it runs, unless the spread has the field. They are old objects: each request leaves some kilobytes that
// only a full collection frees. `{ status, ...response }`, or a response that has a status, makes none.

const piece = (delta: object) => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`
const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at":"it"}' } }
const finish = { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] }
const usage = { choices: [], usage: { prompt_tokens: 5, completion_tokens: 9, total_tokens: 14 } }
const answer = [
  piece({ role: 'assistant', reasoning_content: 'hm' }),
  piece({ content: 'Let me ' }),
  piece({ content: 'look.' }),
  piece({ tool_calls: [call] }),
  `data: ${JSON.stringify(finish)}\n\n`,
  `data: ${JSON.stringify(usage)}\n\n`,
  'data: [DONE]\n\n',
].join('')

const schema = { type: 'object', properties: { at: { type: 'string' } } }
const tool = { name: 'look', description: 'looks' }
const input = { at: 'it' }
const chat = {
  tools: [{ type: 'function', function: { ...tool, parameters: schema } }],
  messages: [
    { role: 'system', content: 'be brief' },
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: null, tool_calls: [{ ...call, id: 'call_0' }] },
    { role: 'tool', tool_call_id: 'call_0', content: 'nothing' },
  ],
}
const messages = {
  max_tokens: 99,
  system: [{ type: 'text', text: 'be brief' }],
  thinking: { type: 'enabled', budget_tokens: 1024 },
  tools: [{ ...tool, input_schema: schema }],
  messages: [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'call_0', name: 'look', input }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_0', content: 'nothing' }] },
  ],
}
const responses = {
  store: false,
  instructions: 'be brief',
  reasoning: { effort: 'low', summary: 'auto' },
  tools: [{ type: 'function', ...tool, parameters: schema, strict: false }],
  input: [
    { role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
    { type: 'function_call', call_id: 'call_0', name: 'look', arguments: '{"at":"it"}' },
    { type: 'function_call_output', call_id: 'call_0', output: 'nothing' },
    { type: 'message', role: 'user', content: 'and now?' },
  ],
}

test.each<{ name: string; path: string; body: Record<string, unknown> }>([
  { name: 'Chat Completions', path: '/v1/chat/completions', body: chat },
  { name: 'streamed Chat Completions', path: '/v1/chat/completions', body: { ...chat, stream: true } },
  { name: 'Completions', path: '/v1/completions', body: { prompt: 'hi' } },
  { name: 'Messages', path: '/v1/messages', body: messages },
  { name: 'streamed Messages', path: '/v1/messages', body: { ...messages, stream: true } },
  { name: 'Responses', path: '/v1/responses', body: responses },
  { name: 'streamed Responses', path: '/v1/responses', body: { ...responses, stream: true } },
  {
    name: "llama-stack's chats",
    path: '/v1/inference/chat-completion',
    body: { model_id: 'm', messages: chat.messages.slice(0, 2) },
  },
])('requests of $name make no hidden classes', { timeout: 120_000 }, async ({ path, body }) => {
  const upstream = await startUpstream(streamed(async (response) => void response.write(answer)))
  onTestFinished(() => upstream.close())
  const directory = mkdtempSync(join(tmpdir(), 'dragoman-classes-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const log = join(directory, 'v8.log')
  const flags = ['--log', '--log-maps', '--no-log-maps-details', '--no-logfile-per-isolate', `--logfile=${log}`]
  const models = [
    { id: 'm', engine: 'remote', endpoints: [{ url: upstream.url }], protocol: 'chat', probe: false, load: 'demand' },
  ]
  const home = await createServeHome('off', {}, { models, flags })
  onTestFinished(() => home.remove())
  const { url } = await home.start()
  const send = async (count: number) => {
    for (let sent = 0; sent < count; sent++) {
      upstream.seen.length = 0
      const response = await fetch(url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', ...body }),
      })
      expect(await response.text()).toContain('look')
      expect(response.status).toBe(200)
    }
  }
  const madeBy = () => readFileSync(log, 'utf8').match(/^map,Transition,.*,prototype,\w+$/gm) ?? []
  // Code that has not seen all kinds of requests yet makes some.
  await send(1000)
  const before = madeBy()
  await send(500)
  const made = madeBy().slice(before.length)
  expect(before.length).toBeGreaterThan(0)
  expect(made.length / 500, `the last: ${made.slice(-20).join('\n')}`).toBeLessThan(0.5)
})
