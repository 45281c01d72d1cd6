import { describe, expect, test } from 'vitest'
import { contextOf } from '../../../test/support/http/context.ts'
import { iterate } from '../../../test/support/http/iterate.ts'
import { playingEngine } from '../../../test/support/upstream/stub-engine.ts'
import type { PreparedGeneration } from '../../contract/engine.ts'
import type { EngineEvent, GenerationEvent } from '../../contract/event.ts'
import { type OutputConstraint, plainChat, plainRequest } from '../../contract/request.ts'
import type { Validator } from '../../contract/validator.ts'
import { generate } from '../generate.ts'

const schema: OutputConstraint = { type: 'json-schema', schema: { const: 'good' }, strict: false }
const usage: EngineEvent = {
  type: 'usage',
  usage: { inputTokens: 1, cachedInputTokens: 0, outputTokens: 2, reasoningTokens: 0 },
  timings: {},
}
const raw = (choice: number, text: string): EngineEvent => ({ type: 'raw-text', choice, text })
const finish = (choice: number, reason: 'stop' | 'length' | 'end-of-message' = 'stop'): EngineEvent => ({
  type: 'finish',
  choice,
  reason,
})

const refusal = (delta: string): readonly EngineEvent[] => [
  { type: 'refusal-start', choice: 0 },
  { type: 'refusal-delta', choice: 0, delta },
  { type: 'refusal-end', choice: 0 },
]

/** Accepts only `"good"` and records its calls. */
function createValidator(canCheck = true) {
  const asked: unknown[] = []
  const validator: Validator = {
    inputSchema: async ({ syntax }) => ({ syntax }),
    canCheck: async () => canCheck,
    check: async (asSchema, text) => {
      asked.push(asSchema === true ? [true, text] : text)
      return text === '"good"' ? undefined : 'it is not good'
    },
  }
  return { validator, asked }
}

type Play = {
  readonly steps: readonly EngineEvent[]
  readonly structured?: PreparedGeneration['structured']
  readonly isSent?: true
  readonly output?: OutputConstraint
  readonly validator?: Validator
  readonly stop?: readonly string[]
}

async function play({
  steps,
  structured = 'partial',
  isSent,
  output = schema,
  validator = createValidator().validator,
  stop = [],
}: Play) {
  const engine = playingEngine(steps, {
    structured,
    ...(isSent && { constraintIsSent: isSent }),
    outputFormat: { toolFormat: 'hermes', startsInReasoning: false },
  })
  const prompt = { type: 'chat', ...plainChat, messages: [], tools: [{ name: 'f' }] } as const
  const request = { ...plainRequest, id: 'r', model: 'm', prompt, output, stop }
  const generation = generate({ now: () => 0, validator }, [request], contextOf(engine))
  const events: GenerationEvent[] = []
  for await (const event of iterate(generation.run)) events.push(event)
  const [start] = events
  return { events, structured: start?.type === 'start' ? start.structured : undefined }
}

describe('validating output of a partial grammar', () => {
  test('a valid text passes, and the reply is marked validated', async () => {
    const { validator, asked } = createValidator()
    const { events, structured } = await play({ steps: [raw(0, '"go'), raw(0, 'od"'), finish(0), usage], validator })
    expect(structured).toBe('validated')
    expect(asked).toEqual(['"good"'])
    expect(events.at(-1)?.type).toBe('usage')
  })

  test('an invalid text ends in an error instead of a finish', async () => {
    const { events } = await play({ steps: [raw(0, '"bad"'), finish(0), usage] })
    expect(events.filter(({ type }) => type === 'finish')).toEqual([])
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { code: 'invalid-output' } })
  })

  test('a text that ends a message, and not the turn, is validated, too', async () => {
    const { events } = await play({ steps: [raw(0, '"bad"'), finish(0, 'end-of-message'), usage] })
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { code: 'invalid-output' } })
  })

  test('a schema that is not judged in time is checked all the same: no text passes unchecked', async () => {
    const validator = { ...createValidator().validator, canCheck: async () => undefined }
    const good = await play({ steps: [raw(0, '"good"'), finish(0), usage], validator })
    expect([good.structured, good.events.at(-1)?.type]).toEqual(['validated', 'usage'])
    const bad = await play({ steps: [raw(0, '"bad"'), finish(0), usage], validator })
    expect(bad.events.at(-1)).toMatchObject({ type: 'error', error: { code: 'invalid-output' } })
  })

  test('each choice is validated by its own text', async () => {
    const { validator, asked } = createValidator()
    const steps = [raw(0, '"good"'), finish(0), raw(1, '"bad"'), finish(1), usage]
    const { events } = await play({ steps, validator })
    expect(asked).toEqual(['"good"', '"bad"'])
    expect(events.at(-1)?.type).toBe('error')
  })

  test('JSON mode is checked like a schema', async () => {
    const { validator, asked } = createValidator()
    const { events } = await play({ steps: [raw(0, 'not json'), finish(0), usage], output: { type: 'json-object' }, validator })
    expect(asked).toEqual(['not json'])
    expect(events.at(-1)).toMatchObject({
      error: { code: 'invalid-output', message: expect.stringContaining('not a JSON object') },
    })
  })

  test.each<[string, Play]>([
    ['was cut off', { steps: [raw(0, '"go'), finish(0, 'length'), usage] }],
    ['is a call', { steps: [raw(0, '<tool_call>{"name": "f", "arguments": {}}</tool_call>'), finish(0), usage] }],
    ['is a refusal', { steps: [...refusal('I cannot.'), finish(0), usage] }],
    ['is certain by its grammar', { steps: [raw(0, 'x'), finish(0), usage], structured: 'full' }],
    ['was cut off in a grammar', { steps: [raw(0, 'x'), finish(0, 'length'), usage], output: { type: 'gbnf', grammar: 'g' } }],
    ['is of no schema', { steps: [raw(0, 'x'), finish(0), usage], output: { type: 'text' } }],
    [
      'could be a required call',
      {
        steps: [raw(0, '<tool_call>{"name": "f", "arguments": {}}</tool_call>'), finish(0), usage],
        output: { type: 'json-object' },
      },
    ],
  ])('what %s is not checked', async (_, parts) => {
    const { validator, asked } = createValidator()
    const { events } = await play({ ...parts, validator })
    expect(asked).toEqual([])
    expect(events.at(-1)?.type).toBe('usage')
  })

  test.each<[OutputConstraint, string]>([
    [{ type: 'regex', pattern: 'a' }, 'does not match the regular expression: it is not good'],
    [{ type: 'gbnf', grammar: 'root ::= "a"' }, 'breaks the grammar: it is not good'],
  ])('the text of %j is checked as a string', async (output, message) => {
    const { validator, asked } = createValidator()
    const good = await play({ steps: [raw(0, 'good'), finish(0), usage], output, validator })
    expect(good.structured).toBe('validated')
    const bad = await play({ steps: [raw(0, 'bad'), finish(0), usage], output, validator })
    expect(bad.events.at(-1)).toMatchObject({ type: 'error', error: { message: expect.stringContaining(message) } })
    expect(asked).toEqual(['"good"', '"bad"'])
  })

  test.each<OutputConstraint>([
    { type: 'regex', pattern: 'a' },
    { type: 'gbnf', grammar: 'root ::= "a"' },
  ])('what cannot be checked of %j passes, and is not marked validated', async (output) => {
    const { validator, asked } = createValidator(false)
    const { structured, events } = await play({ steps: [raw(0, 'x'), finish(0), usage], output, validator })
    expect(structured).toBe('partial')
    expect(events.at(-1)?.type).toBe('usage')
    expect(asked).toEqual([])
  })

  test('an exact grammar that another program was sent is reported as full, and its output is checked all the same', async () => {
    const parts = { structured: 'full', isSent: true } as const
    const good = await play({ steps: [raw(0, '"good"'), finish(0), usage], ...parts })
    expect(good.structured).toBe('full')
    const bad = await play({ steps: [raw(0, 'prose'), finish(0), usage], ...parts })
    expect(bad.events.at(-1)).toMatchObject({ type: 'error', error: { code: 'invalid-output' } })
  })

  test('with an unsupported schema, the text is only checked to be JSON, and reported as partial', async () => {
    const { validator, asked } = createValidator(false)
    const { structured } = await play({ steps: [raw(0, '"good"'), finish(0), usage], validator })
    expect(structured).toBe('partial')
    expect(asked).toEqual([[true, '"good"']])
  })

  test('text that ended at a stop sequence is validated if it is JSON, but not marked validated', async () => {
    const ended: EngineEvent = { type: 'finish', choice: 0, reason: 'stop', stopSequence: '!' }
    const inside = createValidator()
    const half = await play({ steps: [raw(0, '"go'), ended, usage], stop: ['!'], validator: inside.validator })
    expect(inside.asked).toEqual([])
    expect(half.structured).toBe('partial')
    const behind = createValidator()
    const whole = await play({ steps: [raw(0, '"bad"'), ended, usage], stop: ['!'], validator: behind.validator })
    expect(whole.events.at(-1)).toMatchObject({ type: 'error', error: { code: 'invalid-output' } })
  })
})
