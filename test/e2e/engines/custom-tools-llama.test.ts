import OpenAI, { BadRequestError } from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { larkToGbnf } from '../../../src/grammar/lark/lark-grammar.ts'
import { createGbnfMatcher } from '../../../src/grammar/run/gbnf-matcher.ts'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { llamaServerBinary, llamaServerHint } from '../../support/llama/llama-server.ts'
import { randomModel } from '../../support/llama/models.ts'

let app: RunningApp
let front: RunningApp
let clients: Readonly<Record<'app' | 'front', OpenAI>>
beforeAll(async () => {
  const shared = { engine: 'llama', source: await randomModel(), contextLength: 4096, threads: 1, slots: 2 } as const
  const formats = ['hermes', 'qwen3-coder'] as const
  const binary = llamaServerBinary === undefined ? {} : { binary: llamaServerBinary }
  app = await startApp({
    models: [
      ...formats.map((toolFormat) => ({ id: toolFormat, ...shared, toolFormat })),
      { ...shared, id: 'llama-server', engine: 'llama-server', load: 'demand', ...binary },
    ],
  })
  front = await startApp({
    models: [{ id: 'behind', engine: 'remote', endpoints: [{ url: `${app.url}/v1` }], upstreamModel: 'hermes' }],
  })
  const clientOf = ({ url }: RunningApp) => new OpenAI({ baseURL: `${url}/v1`, apiKey: 'unused', maxRetries: 0 })
  clients = { app: clientOf(app), front: clientOf(front) }
})
afterAll(async () => {
  await front?.close()
  await app?.close()
})

const lark = [
  'start: head line~1..3 tail',
  'head: "*** " /[A-Z][a-z]{0,5}/ LF',
  'line: ("+" | "-" | " ") /[a-z "\\\\é]{0,8}/ LF',
  'tail: "***"',
  '%import common.LF',
].join('\n')
const pattern = '(?:GET|PUT) /[a-z]{1,8}(?:\\?"[0-9]{1,3}")?'
const customTool = (name: string, grammar: { syntax: 'lark' | 'regex'; definition: string }): OpenAI.ChatCompletionTool => ({
  type: 'custom',
  custom: { name, format: { type: 'grammar', grammar } },
})
const tools = [
  customTool('edit', { syntax: 'lark', definition: lark }),
  customTool('send', { syntax: 'regex', definition: pattern }),
]
const isEdit = createGbnfMatcher(larkToGbnf(lark))
const allows = { edit: isEdit, send: (text: string) => new RegExp(`^${pattern}$`).test(text) }

const body = { messages: [{ role: 'user' as const, content: 'Go on.' }], temperature: 1, max_tokens: 800, tools }

describe.each([
  ['hermes', 'app'],
  ['qwen3-coder', 'app'],
  ['behind', 'front'],
] as const)('custom tools with grammars under random weights (%s)', (model, server) => {
  test.each(['edit', 'send'] as const)('%s gets texts of its grammar only, whole and in streams', async (name) => {
    for (let seed = 0; seed < 3; seed++) {
      const request = { ...body, model, seed, tool_choice: { type: 'custom', custom: { name } } } as const
      const { choices } = await clients[server].chat.completions.create(request)
      expect(choices[0]).toMatchObject({ finish_reason: 'tool_calls', message: { content: null } })
      const inputs = (choices[0]?.message.tool_calls ?? []).map((call) =>
        call.type === 'custom' ? call.custom.input : undefined,
      )
      expect(inputs.length).toBeGreaterThan(0)
      for (const input of inputs) expect(allows[name](input ?? ''), JSON.stringify(input)).toBe(true)

      const streamed: string[] = []
      for await (const chunk of await clients[server].chat.completions.create({ ...request, stream: true })) {
        for (const call of chunk.choices[0]?.delta.tool_calls ?? []) {
          const { custom } = call as { custom?: { input: string } }
          streamed[call.index] = (streamed[call.index] ?? '') + (custom?.input ?? '')
        }
      }
      expect(streamed).toEqual(inputs)
    }
  })

  test('a required call gets a text of the grammar of its own tool', async () => {
    for (let seed = 0; seed < 4; seed++) {
      const { choices } = await clients[server].chat.completions.create({ ...body, model, seed, tool_choice: 'required' })
      const calls = choices[0]?.message.tool_calls ?? []
      expect(calls.length).toBeGreaterThan(0)
      for (const call of calls) {
        if (call.type !== 'custom') throw new Error('the call is not a custom one')
        expect(allows[call.custom.name === 'edit' ? 'edit' : 'send'](call.custom.input)).toBe(true)
      }
    }
  })

  test('a grammar that cannot be used is refused at its place', async () => {
    const broken = customTool('bad', { syntax: 'lark', definition: 'start: missing' })
    const asked = clients[server].chat.completions.create({ ...body, model, tools: [...tools, broken] })
    await expect(asked).rejects.toBeInstanceOf(BadRequestError)
    await expect(asked).rejects.toMatchObject({
      param: 'tools[2].custom.format.grammar.definition',
      message: expect.stringContaining("line 1: 'missing' is not defined"),
    })
  })
})

describe(`custom tools with grammars on a llama-server${llamaServerHint}`, () => {
  test.skipIf(llamaServerBinary === undefined)('get texts of their grammars where a call is required', async () => {
    for (const name of ['edit', 'send'] as const) {
      for (let seed = 0; seed < 2; seed++) {
        const tool_choice = { type: 'custom', custom: { name } } as const
        const { choices } = await clients.app.chat.completions.create({ ...body, model: 'llama-server', seed, tool_choice })
        const call = choices[0]?.message.tool_calls?.[0]
        expect(call?.type === 'custom' && allows[name](call.custom.input), JSON.stringify(call)).toBe(true)
      }
    }
  })
})
