import { describe, expect, test } from 'vitest'
import { contextOf } from '../../../test/support/http/context.ts'
import { assistant, callsIn, text } from '../../../test/support/parts.ts'
import { playingEngine, shortUsage, stubEngine } from '../../../test/support/upstream/stub-engine.ts'
import type { Engine, PreparedGeneration } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import type { EngineEvent, GenerationEvent } from '../../contract/event.ts'
import { field } from '../../contract/field.ts'
import {
  type CustomTool,
  type FunctionTool,
  type GenerationRequest,
  type Prompt,
  plainChat,
  plainRequest,
} from '../../contract/request.ts'
import { foldEvents } from '../../contract/result.ts'
import { generate } from '../generate.ts'
import { render } from '../uses/use-tokenizer.ts'

const patch: CustomTool = { type: 'custom', name: 'patch', description: 'Changes files.' }
const look: FunctionTool = { name: 'look', parameters: { type: 'object', properties: { input: { type: 'string' } } } }
const chat = { type: 'chat', ...plainChat, messages: [], tools: [look, patch] } as const
const request: GenerationRequest = { ...plainRequest, id: 'r', model: 'm', prompt: chat }

const finish = (choice = 0): EngineEvent => ({ type: 'finish', choice, reason: 'stop' })
const raw = (words: string, choice = 0): EngineEvent => ({ type: 'raw-text', choice, text: words })
const written = (name: string, json: string) => `<tool_call>{"name": "${name}", "arguments": ${json}}</tool_call>`
const hermes = { outputFormat: { toolFormat: 'hermes', startsInReasoning: false } } as const

const start = (engine: Engine, asked = request) => generate({ now: () => 0 }, [asked], contextOf(engine))

async function eventsOf(steps: readonly EngineEvent[], asked = request): Promise<GenerationEvent[]> {
  const events: GenerationEvent[] = []
  await start(playingEngine(steps, hermes), asked).run((event) => {
    events.push(event)
    return undefined
  })
  return events
}

/** An engine that keeps what it was asked, and answers with nothing. */
function listeningEngine(prepared: Partial<PreparedGeneration> = {}) {
  const asked: GenerationRequest[] = []
  const engine = stubEngine({
    prepare: async (given) => {
      asked.push(given)
      return {
        ...prepared,
        async run(_, emit) {
          await emit(finish())
          await emit(shortUsage)
        },
      }
    },
  })
  return { engine, asked }
}

async function askedOf(asked: Partial<GenerationRequest>): Promise<GenerationRequest | undefined> {
  const listening = listeningEngine()
  await foldEvents(start(listening.engine, { ...request, ...asked }))
  return listening.asked[0]
}

describe('a custom tool', () => {
  test('a custom tool is a function with one required string for engines, at the same index', async () => {
    const prompt = (await askedOf({}))?.prompt as Extract<Prompt, { type: 'chat' }>
    expect(prompt.tools).toEqual([
      look,
      {
        name: 'patch',
        description: expect.stringMatching(/^Changes files\.\n\n.*`input`/),
        parameters: {
          type: 'object',
          properties: { input: { type: 'string' } },
          required: ['input'],
          additionalProperties: false,
        },
      },
    ])
  })

  test.each([
    ['regex', '[a-z]+'],
    ['lark', 'start: "a"'],
  ] as const)('a custom tool shows the model its %s grammar', async (syntax, definition) => {
    const tools = [{ ...patch, grammar: { syntax, definition } }]
    const prompt = (await askedOf({ prompt: { ...chat, tools } }))?.prompt
    expect(prompt).toMatchObject({ tools: [{ name: 'patch', description: expect.stringContaining(definition), strict: true }] })
  })

  test('a custom tool may be required by its name', async () => {
    const toolChoice = { type: 'required', names: ['patch'] } as const
    const steps = [raw(written('patch', '{"input": "a"}')), finish(), shortUsage]
    const result = await foldEvents(start(playingEngine(steps, hermes), { ...request, toolChoice }))
    expect(callsIn(result)).toMatchObject([{ name: 'patch', kind: 'custom', input: 'a' }])
  })

  test('a custom tool that is not among the names that may be called is not called', async () => {
    const toolChoice = { type: 'auto', names: ['look'] } as const
    const steps = [raw(written('patch', '{"input": "a"}')), finish(), shortUsage]
    expect(callsIn(await foldEvents(start(playingEngine(steps, hermes), { ...request, toolChoice })))).toEqual([])
  })

  test('a custom tool cannot have the name of another tool', async () => {
    const prompt = { ...chat, tools: [look, { ...patch, name: 'look' }] }
    const { engine, asked } = listeningEngine()
    await expect(foldEvents(start(engine, { ...request, prompt }))).rejects.toMatchObject({
      code: 'invalid-request',
      at: ['prompt', 'tools', 1, 'name'],
      message: "prompt.tools[1] has the name 'look' of prompt.tools[0]; rename one of them",
    })
    expect(asked).toEqual([])
  })

  test('a custom tool is where the caller declared it, in failures of the engine', async () => {
    const parameters = ['prompt', 'tools', 0, 'parameters', 'properties', 'input', 'pattern'] as const
    const failure = new AppError('unsupported-field', `${field(...parameters)} is too long`, { at: parameters })
    const engine = stubEngine({ prepare: () => Promise.reject(failure) })
    const tools: CustomTool[] = [{ ...patch, grammar: { syntax: 'regex', definition: 'a' } }]
    await expect(foldEvents(start(engine, { ...request, prompt: { ...chat, tools } }))).rejects.toMatchObject({
      code: 'unsupported-field',
      at: ['prompt', 'tools', 0, 'grammar', 'definition'],
      message: 'prompt.tools[0].grammar.definition is too long',
    })
    await expect(foldEvents(start(engine, { ...request, prompt: { ...chat, tools: [patch] } }))).rejects.toMatchObject({
      at: ['prompt', 'tools', 0],
      message: 'prompt.tools[0] is too long',
    })
    await expect(foldEvents(start(engine))).rejects.toMatchObject({ at: parameters })
  })
})

describe('a custom call', () => {
  test('a custom call has the decoded text of the input, piece by piece', async () => {
    const pieces = [...written('patch', '{"input": "a\\n\\u00e9 \\"b\\""}')].map((letter) => raw(letter))
    const events = await eventsOf([...pieces, finish(), shortUsage])
    const call = events.filter(({ type }) => type.startsWith('tool-call'))
    expect(call[0]).toMatchObject({ type: 'tool-call-start', name: 'patch', kind: 'custom' })
    expect(call.flatMap((event) => (event.type === 'tool-call-delta' ? [event.delta] : []))).toEqual([...'a\né "b"'])
    expect(call.at(-1)).toEqual({ type: 'tool-call-end', choice: 0, id: expect.any(String) })
    expect(events.find(({ type }) => type === 'finish')).toMatchObject({ reason: 'tool-calls' })
  })

  test('a custom call keeps its order among calls of functions, in each choice', async () => {
    const one = `${written('look', '{"input": "x"}')}\n${written('patch', '{"input": "y"}')}`
    const other = `${written('patch', '{"input": "z"}')}\n${written('patch', '{"input": ""}')}`
    const pairs = Array.from({ length: Math.max(one.length, other.length) }, (_, index) => [
      raw(one.charAt(index), 0),
      raw(other.charAt(index), 1),
    ])
    const steps = [...pairs.flat(), finish(0), finish(1), shortUsage]
    const { choices } = await foldEvents(start(playingEngine(steps, hermes), { ...request, choices: 2 }))
    const id = expect.any(String)
    expect(choices.map(({ parts }) => parts.filter(({ type }) => type === 'tool-call'))).toEqual([
      [
        { type: 'tool-call', id, name: 'look', input: '{"input": "x"}' },
        { type: 'tool-call', id, name: 'patch', kind: 'custom', input: 'y' },
      ],
      [
        { type: 'tool-call', id, name: 'patch', kind: 'custom', input: 'z' },
        { type: 'tool-call', id, name: 'patch', kind: 'custom', input: '' },
      ],
    ])
  })

  test('a custom call keeps the tokens of its arguments', async () => {
    const tokens = (id: number) => [{ id, text: '', bytes: [], logprob: 0, top: [] }]
    const call = { choice: 0, id: 'a' } as const
    const steps: EngineEvent[] = [
      { type: 'tool-call-start', ...call, name: 'patch' },
      { type: 'tool-call-delta', ...call, delta: '{"input": ', tokens: tokens(1) },
      { type: 'tool-call-delta', ...call, delta: '"a', tokens: tokens(2) },
      { type: 'tool-call-delta', ...call, delta: '"}', tokens: tokens(3) },
      { type: 'tool-call-end', ...call },
      finish(),
      shortUsage,
    ]
    const { choices } = await foldEvents(start(playingEngine(steps)))
    expect(choices[0]?.tokens.map(({ id }) => id)).toEqual([1, 2, 3])
  })

  test.each([
    ['a bare string', '"just text"', { input: 'just text', state: 'repaired', raw: '"just text"' }],
    ['single quotes', "{'input': 'a'}", { input: 'a', state: 'repaired', raw: "{'input': 'a'}" }],
    ['another member', '{"input": "a", "n": 1}', { input: 'a', state: 'repaired', raw: '{"input": "a", "n": 1}' }],
  ])('with %s as arguments is read as well as possible, and marked', async (_, json, call) => {
    const steps = [raw(written('patch', json)), finish(), shortUsage]
    expect(callsIn(await foldEvents(start(playingEngine(steps, hermes))))).toMatchObject([{ kind: 'custom', ...call }])
  })

  test('a custom call that is truncated is marked', async () => {
    const steps = [raw('<tool_call>{"name": "patch", "arguments": {"input": "a'), { ...finish(), reason: 'length' }, shortUsage]
    const [call] = callsIn(await foldEvents(start(playingEngine(steps as EngineEvent[], hermes))))
    expect(call).toMatchObject({ kind: 'custom', input: 'a', state: 'unparseable', raw: '{"input": "a' })
  })
})

describe('an earlier custom call', () => {
  const past = assistant(text('Now.'), { type: 'tool-call', id: 'c', name: 'patch', kind: 'custom', input: 'a "b"\n' })
  const earlier = assistant(text('Now.'), { type: 'tool-call', id: 'c', name: 'patch', input: '{"input":"a \\"b\\"\\n"}' })
  const messages = [past, { role: 'tool', toolCallId: 'c', content: [text('done')] }] as const

  test.each([
    ['declared', chat.tools],
    ['not declared', []],
  ])('an earlier custom call is a function call for engines, its tool %s', async (_, tools) => {
    expect((await askedOf({ prompt: { ...chat, tools, messages } }))?.prompt).toMatchObject({ messages: [earlier, messages[1]] })
  })

  test('and custom tools are rendered like those of a generation', async () => {
    const rendered: Prompt[] = []
    const tokenizer = {
      tokenize: async () => [],
      count: async () => 0,
      detokenize: async () => '',
      render: async ({ prompt }: { readonly prompt: Prompt }) => {
        rendered.push(prompt)
        return ''
      },
    }
    const prompt = { ...chat, messages }
    await render({}, { prompt, reasoning: {} }, contextOf(stubEngine({ capabilities: { tokenizer } })))
    expect(rendered).toEqual([(await askedOf({ prompt }))?.prompt])
  })
})
