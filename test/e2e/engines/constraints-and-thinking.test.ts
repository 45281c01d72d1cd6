import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { llamaServerBinary, llamaServerHint } from '../../support/llama/llama-server.ts'
import { readLlamaTemplates } from '../../support/llama/llama-templates.ts'
import { chatChunk, doneLine, openStream, type ScriptedUpstream, startUpstream } from '../../support/upstream/upstream.ts'

const templates = readLlamaTemplates()
/** Templates by what their prompts do when thinking is on: they open a thought, or leave that to the model. */
const styles = [
  { name: 'opens', file: 'Qwen3.5-4B.jinja', opens: true },
  { name: 'opens-tight', file: 'poolside-Laguna-XS.2.jinja', opens: true },
  { name: 'leaves', file: 'Qwen-Qwen3-0.6B.jinja', opens: false },
] as const
const engines = ['llama', ...(llamaServerBinary === undefined ? [] : ['llama-server'])]

const schema = { type: 'object', properties: { d: { enum: ['a', 'b'] } }, required: ['d'], additionalProperties: false }
const parameters = { type: 'object', properties: { s: { enum: ['x', 'y'] } }, required: ['s'], additionalProperties: false }
const tool = (name: string) => ({ type: 'function', function: { name, description: 'It has a word.', parameters } })

type Reply = { content: string; reasoning: string; calls: { name: string; arguments: string }[]; finish: string | null }
type Constraint = {
  readonly name: string
  readonly fields: object
  /** What a model that follows it writes. */
  readonly text: string
  readonly isCall?: true
  holds(reply: Reply): boolean
}

const isJson = (text: string, holds: (value: unknown) => boolean) => {
  try {
    return holds(JSON.parse(text))
  } catch {
    return false
  }
}
const hasKey = (value: unknown, key: string) => typeof value === 'object' && value !== null && key in value
const isCall = ({ calls, content }: Reply) =>
  content === '' && calls.length === 1 && calls[0]?.name === 't_x' && isJson(calls[0].arguments, (value) => hasKey(value, 's'))

const constraints: readonly Constraint[] = [
  {
    name: 'json_schema',
    fields: { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } },
    text: '{"d": "a"}',
    holds: ({ content }) => isJson(content, (value) => hasKey(value, 'd')),
  },
  {
    name: 'json_object',
    // Its own end is not certain: an endless object is truncated.
    fields: { response_format: { type: 'json_object' } },
    text: '{"d": "a"}',
    holds: ({ content, finish }) => content.startsWith('{') && (finish === 'length' || isJson(content, () => true)),
  },
  { name: 'regex', fields: { regex: '[a-c]{3}-[0-9]' }, text: 'abc-1', holds: ({ content }) => /^[a-c]{3}-\d$/.test(content) },
  {
    name: 'grammar',
    fields: { grammar: 'root ::= "yes" | "no" # root\n' },
    text: 'yes',
    holds: ({ content }) => /^(?:yes|no)$/.test(content),
  },
  {
    name: 'required call',
    fields: { tools: [tool('t_x')], tool_choice: 'required' },
    text: '{"name": "t_x", "arguments": {"s": "x"}}',
    isCall: true,
    holds: isCall,
  },
  {
    name: 'named call',
    fields: { tools: [tool('t_x'), tool('other')], tool_choice: { type: 'function', function: { name: 't_x' } } },
    text: '{"name": "t_x", "arguments": {"s": "x"}}',
    isCall: true,
    holds: isCall,
  },
]
/** Whole first: the head of a stream that waits for its model to load does not say yet how the output is constrained. */
const modes = [
  { thinking: true, stream: false },
  { thinking: false, stream: false },
  { thinking: true, stream: true },
  { thinking: false, stream: true },
] as const
/** Whole with thinking and streamed without, or the other way: in each second row, real models take as long as they think. */
const halfOf = (index: number) => modes.filter(({ thinking, stream }) => (thinking === stream) === (index % 2 === 0))

let app: RunningApp
let upstream: ScriptedUpstream
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-constraints-'))
  for (const { file } of styles) await writeFile(join(folder, file), templates?.get(file) ?? '')
  upstream = await startUpstream(answerAsVllm, { ownedBy: 'vllm' })
  const source = 'models/dragoman-tiny.gguf'
  const local = { source, contextLength: 2048, slots: 1, threads: 1, load: 'demand' } as const
  const models = styles.flatMap(({ name, file }) => {
    const chatTemplate = join(folder, file)
    const ownServer = { ...local, engine: 'llama-server', binary: llamaServerBinary ?? '', chatTemplate } as const
    return [
      { id: `llama/${name}`, engine: 'llama', ...local, chatTemplate } as const,
      { id: `fake/${name}`, engine: 'fake', script: 'from-request', chatTemplate, toolFormat: 'hermes' } as const,
      ...(llamaServerBinary === undefined ? [] : [{ id: `llama-server/${name}`, ...ownServer }]),
    ]
  })
  const own = [
    { id: 'llama/own', engine: 'llama', ...local },
    ...(llamaServerBinary === undefined
      ? []
      : [{ id: 'llama-server/own', ...local, engine: 'llama-server', binary: llamaServerBinary } as const]),
  ] as const
  const endpoints = [{ url: upstream.url }]
  app = await startApp({
    models: [...models, ...own, { id: 'vllm', engine: 'remote', endpoints, server: 'vllm', upstreamModel: 'up' }],
  })
})
afterAll(async () => {
  await app?.close()
  await upstream?.close()
  await rm(folder, { recursive: true, force: true })
})

async function ask(model: string, { stream, ...fields }: { readonly stream: boolean; readonly [name: string]: unknown }) {
  // A model this small follows what it was trained on: asked for JSON, it thinks on and on, and calls nothing.
  const content = 'tools' in fields ? 'Use the tool.' : 'Give JSON.'
  const given = { model, stream, messages: [{ role: 'user', content }], temperature: 0, seed: 1, max_tokens: 200 }
  const response = await fetch(`${app.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...given, ...fields }),
  })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${response.status}: ${text}`)
  return { ...(stream ? readStream(text) : readWhole(text)), structured: response.headers.get('x-dragoman-structured') }
}

type WireMessage = {
  readonly content?: string | null
  readonly reasoning_content?: string | null
  readonly tool_calls?: readonly {
    readonly index?: number
    readonly function: { readonly name?: string; readonly arguments?: string }
  }[]
}

function readWhole(text: string): Reply {
  const [choice] = JSON.parse(text).choices as readonly { readonly message: WireMessage; readonly finish_reason: string }[]
  const reply = emptyReply()
  add(reply, choice?.message ?? {})
  return { ...reply, finish: choice?.finish_reason ?? null }
}

function readStream(text: string): Reply {
  const reply = emptyReply()
  for (const line of text.split('\n')) {
    if (!line.startsWith('data: {')) continue
    const chunk = JSON.parse(line.slice(6))
    if (chunk.error !== undefined) throw new Error(line)
    for (const { delta, finish_reason } of chunk.choices) {
      add(reply, delta)
      reply.finish = finish_reason ?? reply.finish
    }
  }
  return reply
}

function emptyReply(): Reply {
  return { content: '', reasoning: '', calls: [], finish: null }
}

function add(reply: Reply, { content, reasoning_content, tool_calls = [] }: WireMessage): void {
  reply.content += content ?? ''
  reply.reasoning += reasoning_content ?? ''
  for (const [place, { index = place, function: part }] of tool_calls.entries()) {
    const known = reply.calls[index] ?? { name: '', arguments: '' }
    reply.calls[index] = { name: known.name + (part.name ?? ''), arguments: known.arguments + (part.arguments ?? '') }
  }
}

/** As vLLM with parsers of reasoning and calls. */
async function answerAsVllm({ body }: { readonly body: Record<string, unknown> }, response: Parameters<typeof openStream>[0]) {
  const { text, isCall: calls = false } = JSON.parse((body.messages as { content: string }[])[0]?.content ?? '{}')
  const { enable_thinking } = body.chat_template_kwargs as { enable_thinking: boolean }
  openStream(response)
  if (enable_thinking) response.write(chatChunk({ delta: { reasoning_content: 'I think.' } }))
  const args = { name: 't_x', arguments: '{"s": "x"}' }
  const delta = calls ? { tool_calls: [{ index: 0, id: 'c', type: 'function', function: args }] } : { content: text }
  response.write(chatChunk({ delta }))
  response.write(chatChunk({ delta: {}, finish_reason: calls ? 'tool_calls' : 'stop' }))
  response.end(doneLine)
}

describe.skipIf(llamaServerBinary === undefined)(`one file on two engines${llamaServerHint}`, () => {
  test.each([
    ['nothing', {}, false],
    ['that it should think', { enable_thinking: true }, true],
    ['that it should not', { enable_thinking: false }, false],
  ])('gets one prompt, where the request says %s', async (_, fields, thinks) => {
    const prompts = ['llama/own', 'llama-server/own'].map(async (model) => {
      const messages = [{ role: 'user', content: 'AB' }]
      const response = await fetch(`${app.url}/apply-template`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model, messages, ...fields }),
      })
      return ((await response.json()) as { prompt: string }).prompt
    })
    const [first, second] = await Promise.all(prompts)
    expect(second).toBe(first)
    expect(first?.trimEnd().endsWith('<think>')).toBe(thinks)
  })
})

describe.skipIf(templates === undefined)(`constraints with and without thinking${llamaServerHint}`, () => {
  const rows = engines.flatMap((engine) => styles.map((style) => ({ engine, ...style }))).map((row, index) => ({ ...row, index }))
  describe.each(rows)('$engine, a template that $name a thought', ({ engine, name, opens, index }) => {
    test.each(constraints.map((constraint, place) => ({ ...constraint, place })))(
      '$name: the answer is the content or the call, and the thought is the reasoning',
      async (constraint) => {
        const model = `${engine}/${name}`
        for (const { thinking, stream } of halfOf(index + constraint.place)) {
          const reply = await ask(model, { stream, ...constraint.fields, enable_thinking: thinking })
          expect({ thinking, stream, reply, holds: constraint.holds(reply) }).toMatchObject({ holds: true })
          expect(reply.content + reply.reasoning).not.toMatch(/<\/?think>/)
          if (!thinking) expect(reply.reasoning).toBe('')
          // Tiny models do not always think where the template leaves it to them.
          if (thinking && opens) expect(reply.reasoning).not.toBe('')
          if (constraint.isCall === undefined) expect(reply.structured).toBe('full')
        }
      },
    )
  })

  describe.each(styles)('the fake engine, a template that $name a thought', ({ name, opens }) => {
    test.each(constraints)('$name: what the script says after its thought', async ({ fields, text, isCall: calls, holds }) => {
      for (const { thinking, stream } of modes) {
        const answer = calls === undefined ? text : `<tool_call>${text}</tool_call>`
        const raw = thinking ? `${opens ? '' : '<think>'}I think.</think>\n\n${answer}` : answer
        const messages = [{ role: 'user', content: JSON.stringify({ chunks: raw.match(/[\s\S]{1,3}/g) }) }]
        const reply = await ask(`fake/${name}`, { stream, ...fields, messages, enable_thinking: thinking })
        expect({ thinking, stream, reply, holds: holds(reply) }).toMatchObject({ holds: true })
        expect(reply.reasoning).toBe(thinking ? 'I think.' : '')
        expect(reply.structured).not.toBe('full')
      }
    })
  })

  test.each(constraints)(
    'a remote vLLM, $name: its content and its reasoning',
    async ({ fields, text, isCall: calls, holds }) => {
      for (const { thinking, stream } of modes) {
        const messages = [{ role: 'user', content: JSON.stringify({ text, isCall: calls }) }]
        const reply = await ask('vllm', { stream, ...fields, messages, enable_thinking: thinking })
        expect({ thinking, stream, reply, holds: holds(reply) }).toMatchObject({ holds: true })
        expect(reply.reasoning).toBe(thinking ? 'I think.' : '')
      }
    },
  )
})
