import { afterAll, describe, expect, test } from 'vitest'
import { contextOf } from '../../../test/support/http/context.ts'
import { iterate } from '../../../test/support/http/iterate.ts'
import { playingEngine } from '../../../test/support/upstream/stub-engine.ts'
import type { EngineEvent, GenerationEvent } from '../../contract/event.ts'
import { plainChat, plainRequest, type Tool, type ToolChoice } from '../../contract/request.ts'
import { OutputValidator } from '../../threads/output-validator.ts'
import { generate } from '../generate.ts'

const validator = new OutputValidator()
afterAll(() => validator.close())

const parameters = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'], additionalProperties: false }
const strict: Tool = { name: 'f', strict: true, parameters }
const loose: Tool = { name: 'g', parameters }

const call = (name: string, json: string) => `<tool_call>{"name": "${name}", "arguments": ${json}}</tool_call>`
const raw = (text: string, choice = 0): EngineEvent => ({ type: 'raw-text', choice, text })
const finish = (choice = 0, reason: 'stop' | 'length' | 'content-filter' = 'stop'): EngineEvent => ({
  type: 'finish',
  choice,
  reason,
})
const usage: EngineEvent = {
  type: 'usage',
  usage: { inputTokens: 1, cachedInputTokens: 0, outputTokens: 2, reasoningTokens: 0 },
  timings: {},
}

type Play = {
  readonly callsAreCertain?: boolean
  readonly tools?: readonly Tool[]
  readonly stop?: readonly string[]
  readonly toolChoice?: ToolChoice
}

async function play(
  steps: readonly EngineEvent[],
  { callsAreCertain = false, tools = [strict, loose], stop = [], toolChoice = { type: 'auto' } }: Play = {},
): Promise<GenerationEvent[]> {
  const engine = playingEngine(steps, { callsAreCertain, outputFormat: { toolFormat: 'hermes', startsInReasoning: false } })
  const prompt = { type: 'chat', ...plainChat, messages: [], tools } as const
  const request = { ...plainRequest, id: 'r', model: 'm', prompt, stop, toolChoice }
  const { run } = generate({ now: () => 0, validator }, [request], contextOf(engine))
  const all: GenerationEvent[] = []
  for await (const event of iterate(run)) all.push(event)
  return all
}

describe('calls to strict tools', () => {
  test('calls to strict tools have an object, even if the tool declares something else', async () => {
    const tools: readonly Tool[] = [{ name: 'f', strict: true, parameters: {} }]
    const ends = async (json: string) => (await play([raw(call('f', json)), finish(), usage], { tools })).at(-1)
    expect(await ends('"text"')).toMatchObject({ type: 'error', error: { code: 'invalid-output' } })
    expect(await ends('{}')).toMatchObject({ type: 'usage' })
  })

  test.each<[string, readonly EngineEvent[]]>([
    ['are valid', [raw(call('f', '{"n": 1}')), finish(), usage]],
    ['are to tools that are not strict', [raw(call('g', '{"n": "x"}')), finish(), usage]],
    ['were cut off', [raw('<tool_call>{"name": "f", "arguments": {"n": "'), finish(0, 'length'), usage]],
    [
      'came as events and were cut off',
      [
        { type: 'tool-call-start', choice: 0, id: 'a', name: 'f' },
        { type: 'tool-call-delta', choice: 0, id: 'a', delta: '{"n": ' },
        { type: 'tool-call-end', choice: 0, id: 'a' },
        finish(0, 'length'),
        usage,
      ],
    ],
  ])('calls to strict tools that %s pass', async (_, steps) => {
    expect((await play(steps)).at(-1)?.type).toBe('usage')
  })

  test.each<[string, readonly EngineEvent[]]>([
    ['whole', [raw(call('f', '{"n": 1.5}')), finish(), usage]],
    ['in pieces', [...call('f', '{"n": 1, "m": 2}')].map((letter) => raw(letter)).concat(finish(), usage)],
    ['second', [raw(call('f', '{"n": 1}') + call('f', '{}')), finish(), usage]],
    ['complete in a choice that was cut off', [raw(`${call('f', '{}')} and`), finish(0, 'length'), usage]],
    ['of the second choice', [raw(call('f', '{"n": 1}')), finish(), raw(call('f', '{}'), 1), finish(1), usage]],
    [
      'as events',
      [
        { type: 'tool-call-start', choice: 0, id: 'a', name: 'f' },
        { type: 'tool-call-delta', choice: 0, id: 'a', delta: '{"n": ' },
        { type: 'tool-call-delta', choice: 0, id: 'a', delta: '"1"}' },
        { type: 'tool-call-end', choice: 0, id: 'a' },
        finish(),
        usage,
      ],
    ],
  ])('calls to strict tools with arguments that are not valid end in an error: %s', async (_, steps) => {
    const events = await play(steps)
    expect(events.at(-1)).toMatchObject({
      type: 'error',
      error: { code: 'invalid-output', message: expect.stringContaining("strict tool 'f'") },
    })
  })

  test('calls to strict tools are not validated where a filter truncated them', async () => {
    const events = await play([raw('<tool_call>{"name": "f", "arguments": {"n": '), finish(0, 'content-filter'), usage])
    expect(events.at(-1)?.type).toBe('usage')
    expect(events.flatMap((event) => (event.type === 'tool-call-delta' ? event.delta : [])).join('')).not.toContain('}')
  })

  test('calls to strict tools are not validated where a limit truncated them behind complete arguments', async () => {
    const events = await play([raw('<tool_call>{"name": "f", "arguments": {"n": 1.5}'), finish(0, 'length'), usage])
    expect(events.find(({ type }) => type === 'finish')).toMatchObject({ reason: 'length' })
    expect(events.at(-1)?.type).toBe('usage')
  })

  test('calls to strict tools are refused before the generation where their schema is not supported', async () => {
    const parameters = { type: 'object', properties: { n: { nullable: true } } }
    const tools = [{ name: 'f', strict: true, parameters }]
    await expect(play([raw('text'), finish(), usage], { tools })).rejects.toMatchObject({
      code: 'invalid-request',
      at: ['prompt', 'tools', 0, 'parameters'],
    })
  })

  test('calls to strict tools are refused by their own index where only some tools may be called', async () => {
    const parameters = { type: 'object', properties: { n: { nullable: true } } }
    const tools = [loose, { name: 'f', strict: true, parameters }]
    const toolChoice = { type: 'auto', names: ['f'] } as const
    await expect(play([raw('text'), finish(), usage], { tools, toolChoice })).rejects.toMatchObject({
      at: ['prompt', 'tools', 1, 'parameters'],
    })
  })

  test('calls to strict tools are not validated where they may not be called', async () => {
    const parameters = { type: 'object', properties: { n: { nullable: true } } }
    const tools = [{ name: 'f', strict: true, parameters }]
    const events = await play([raw('text'), finish(), usage], { tools, toolChoice: { type: 'none' } })
    expect(events.at(-1)?.type).toBe('usage')
  })

  test('calls to strict tools are validated by patterns that are not valid with the Unicode flag', async () => {
    const parameters = { type: 'object', properties: { n: { type: 'string', pattern: '^\\d{3}\\-\\d{4}$' } } }
    const tools: Tool[] = [{ name: 'f', strict: true, parameters }]
    expect((await play([raw(call('f', '{"n": "123-4567"}')), finish(), usage], { tools })).at(-1)?.type).toBe('usage')
    expect((await play([raw(call('f', '{"n": "1234567"}')), finish(), usage], { tools })).at(-1)?.type).toBe('error')
  })

  test('guaranteed by a grammar are not validated', async () => {
    const events = await play([raw(call('f', '{}')), finish(), usage], { callsAreCertain: true })
    expect(events.at(-1)?.type).toBe('usage')
  })
})

describe('an answer that ended at a stop sequence', () => {
  const stopped = (text: string): EngineEvent => ({ type: 'finish', choice: 0, reason: 'stop', stopSequence: text })

  test.each([
    ['inside the arguments of a call is no call', '<tool_call>{"name": "g", "arguments": {"n": "first', '\n\n', 'stop'],
    ['inside the name of an argument is no call', '<tool_call>{"name": "g", "argu', 'ments', 'stop'],
    ['behind the arguments is a call', '<tool_call>{"name": "g", "arguments": {"n": 1}}', '</tool_call>', 'tool-calls'],
    ['behind two calls is a call', `${call('g', '{"n": 1}')}${call('g', '{"n": 2}')}`, 'Observation', 'tool-calls'],
    ['behind a call is a call', `${call('g', '{"n": 1}')}\n`, 'Observation', 'tool-calls'],
  ])('an answer that ended at a stop sequence %s', async (_, text, stop, reason) => {
    const events = await play([raw(text), stopped(stop), usage], { stop: [stop] })
    expect(events.find(({ type }) => type === 'finish')).toMatchObject({ reason, stopSequence: stop })
  })

  test.each([
    ['{"n": "a ', 'stop'],
    ['{"n": 1}', 'tool-calls'],
  ])('the answer is a call of an engine that reads its own if its arguments are whole: %s', async (json, reason) => {
    const steps: EngineEvent[] = [
      { type: 'tool-call-start', choice: 0, id: 'a', name: 'g' },
      { type: 'tool-call-delta', choice: 0, id: 'a', delta: json },
      { type: 'tool-call-end', choice: 0, id: 'a' },
      { type: 'finish', choice: 0, reason: 'tool-calls', stopSequence: 'END' },
      usage,
    ]
    const events = await play(steps, { stop: ['END'] })
    expect(events.find(({ type }) => type === 'finish')).toMatchObject({ reason })
  })
})
