import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { configFromObject } from '../src/config/load.ts'
import { type RunningApp, startApp } from './support/http/app.ts'
import { chatChunk, doneLine, type ScriptedUpstream, startUpstream, streamOf, usageChunk } from './support/upstream/upstream.ts'

const reasoningTags = { open: '[[thought]]', close: '[[/thought]]\n' }
const call = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
const raw = `[[thought]]Let me ${call} see.[[/thought]]\n\nHello.`
/** Opens a thought at the end of the prompt, with the operator's tag. */
const opening = '{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant: [[thought]]'
/** Without it, thoughts are not shown. */
const thinking = { max_tokens: 2000, thinking: { type: 'enabled', budget_tokens: 1024 } }
const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }]

let folder: string
let upstream: ScriptedUpstream
let app: RunningApp

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-reasoning-tags-'))
  const chatTemplate = join(folder, 'opening.jinja')
  await writeFile(chatTemplate, opening)
  upstream = await startUpstream(streamOf(doneLine))
  const fake = { engine: 'fake', script: 'from-request', reasoningTags } as const
  const endpoints = [{ url: upstream.url }]
  const remote = { engine: 'remote', endpoints, upstreamModel: 'up' } as const
  app = await startApp({
    builtinModel: false,
    models: [
      { ...fake, id: 'tagged', toolFormat: 'hermes' },
      { ...fake, id: 'calling', toolFormat: 'hermes', callsInReasoning: true },
      { ...fake, id: 'opened', chatTemplate },
      { ...remote, id: 'vllm', server: 'vllm', reasoningTags },
      { ...remote, id: 'vllm-calling', server: 'vllm', reasoningTags, callsInReasoning: true },
      { ...remote, id: 'texts', server: 'vllm', protocol: 'completions', chatTemplate, reasoningTags },
    ],
  })
})

afterAll(async () => {
  await app.close()
  await upstream.close()
  await rm(folder, { recursive: true })
})

async function post(path: string, body: object): Promise<string> {
  const headers = { 'content-type': 'application/json' }
  const reply = await fetch(app.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  const text = await reply.text()
  expect([reply.status, text]).toEqual([200, expect.any(String)])
  return text
}

const scripted = (text: string) => [{ role: 'user', content: JSON.stringify({ raw: text }) }]
const chat = async (model: string, fields: object = {}, text = raw) => {
  const { choices } = JSON.parse(await post('/v1/chat/completions', { model, messages: scripted(text), ...fields }))
  const { content, reasoning_content, tool_calls = [] } = choices[0].message
  return { content, reasoning: reasoning_content, calls: tool_calls.length, finish: choices[0].finish_reason }
}

describe("the operator's tags around reasoning", () => {
  const thought = `Let me ${call} see.`

  test('divide whole replies in each protocol', async () => {
    expect(await chat('tagged')).toMatchObject({ content: 'Hello.', reasoning: thought })
    const { content } = JSON.parse(await post('/v1/messages', { model: 'tagged', ...thinking, messages: scripted(raw) }))
    expect(content).toMatchObject([
      { type: 'thinking', thinking: thought },
      { type: 'text', text: 'Hello.' },
    ])
    const { output } = JSON.parse(await post('/v1/responses', { model: 'tagged', input: scripted(raw) }))
    expect(output).toMatchObject([
      { type: 'reasoning', content: [{ text: thought }] },
      { type: 'message', content: [{ text: 'Hello.' }] },
    ])
    const { message } = JSON.parse(await post('/api/chat', { model: 'tagged', stream: false, messages: scripted(raw) }))
    expect(message).toMatchObject({ thinking: thought, content: 'Hello.' })
  })

  test.each([
    ['/v1/chat/completions', {}, /"reasoning_content":"((?:[^"\\]|\\.)*)"/g, /"content":"((?:[^"\\]|\\.)*)"/g],
    ['/v1/messages', thinking, /"thinking":"((?:[^"\\]|\\.)*)"/g, /"text":"((?:[^"\\]|\\.)*)"/g],
    ['/api/chat', {}, /"thinking":"((?:[^"\\]|\\.)*)"/g, /"content":"((?:[^"\\]|\\.)*)"/g],
  ])('and streams of %s', async (path, fields, thoughts, content) => {
    const stream = await post(path, { model: 'tagged', stream: true, messages: scripted(raw), ...fields })
    const joined = (pattern: RegExp) => [...stream.matchAll(pattern)].map(([, text]) => JSON.parse(`"${text}"`)).join('')
    expect([joined(thoughts), joined(content)]).toEqual([thought, 'Hello.'])
  })

  test('are found at the end of the prompt, which may open a thought', async () => {
    const inside = { content: 'Yes', reasoning: 'Hm.' }
    expect(await chat('opened', {}, 'Hm.[[/thought]]\nYes')).toMatchObject(inside)
    upstream.answer = streamOf(completion('Hm.[[/thought]]'), completion('\nYes', 'stop'), usageChunk(3, 2), doneLine)
    expect(await chat('texts')).toMatchObject(inside)
    expect(upstream.seen.at(-1)?.body).toMatchObject({ prompt: expect.stringMatching(/assistant: \[\[thought\]\]$/) })
  })

  test('are looked for in what a server leaves in its text', async () => {
    upstream.answer = streamOf(content('[[thought]]Hm.[[/tho'), content('ught]]\nYes', 'stop'), usageChunk(3, 2), doneLine)
    expect(await chat('vllm')).toMatchObject({ content: 'Yes', reasoning: 'Hm.' })
  })

  test.each([
    [{ open: '<t>', close: ' <t> ' }, 'must not be the text that begins reasoning'],
    [{ open: ' ', close: '</t>' }, 'must be a text that the model writes'],
    [{ open: '<t>' }, 'close'],
  ])('%j are refused', (tags, message) => {
    const model = { engine: 'fake', id: 'a', script: 'from-request', reasoningTags: tags }
    const load = () =>
      configFromObject({ models: [model] as never }, { env: {}, cwd: '/base', userHome: '/home/me', needsModel: true })
    expect(load).toThrow(message)
  })
})

describe('calls in reasoning', () => {
  test('are thoughts unless the operator wants them made', async () => {
    expect(await chat('tagged', { tools })).toMatchObject({ calls: 0, finish: 'stop' })
    const made = { content: 'Hello.', reasoning: 'Let me see.', calls: 1, finish: 'tool_calls' }
    expect(await chat('calling', { tools })).toEqual(made)
  })

  test('are made of what a server has divided, too', async () => {
    const reasoning = (text: string) => chatChunk({ delta: { reasoning_content: text } })
    const reply = [reasoning('Let me <tool_c'), reasoning(`${call.slice('<tool_c'.length)} see.`), content('Hello.', 'stop')]
    upstream.answer = streamOf(...reply, usageChunk(3, 2), doneLine)
    expect(await chat('vllm', { tools })).toMatchObject({ calls: 0, content: 'Hello.', finish: 'stop' })
    upstream.answer = streamOf(...reply, usageChunk(3, 2), doneLine)
    const made = { content: 'Hello.', reasoning: 'Let me see.', calls: 1, finish: 'tool_calls' }
    expect(await chat('vllm-calling', { tools })).toEqual(made)
  })
})

function content(text: string, finish: string | null = null): string {
  return chatChunk({ delta: { content: text }, finish_reason: finish })
}

function completion(text: string, finish: string | null = null): string {
  return chatChunk({ text, finish_reason: finish })
}
