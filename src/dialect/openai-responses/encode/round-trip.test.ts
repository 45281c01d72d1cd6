import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { GenerationEvent } from '../../../contract/event.ts'
import type { Annotation, OutputPart } from '../../../contract/request.ts'
import { callInput } from '../../wire/call-input.ts'
import { decode, promptOf, stored } from '../__fixtures__/decode.ts'
import { checked, finished, start } from '../__fixtures__/encode.ts'
import { createResponseEncoder } from './encoder.ts'

const tools = [
  { type: 'function', name: 'f' },
  { type: 'custom', name: 'patch' },
  {
    type: 'namespace',
    name: 'mcp__docs__',
    description: '',
    tools: [
      { type: 'function', name: 'search' },
      { type: 'custom', name: 'ask' },
    ],
  },
]
const functions = ['f', 'mcp__docs__search', 'made_up']
const customTools = ['patch', 'mcp__docs__ask']

const words = fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' })
const annotation: fc.Arbitrary<Annotation> = fc.oneof(
  fc.record({
    type: fc.constant('url-citation' as const),
    url: fc.webUrl(),
    title: words,
    startIndex: fc.nat(9),
    endIndex: fc.nat(9),
  }),
  fc.record({ type: fc.constant('file-citation' as const), fileId: words, filename: words, index: fc.nat(9) }),
)
const id = fc.uuid()
/** No arguments at all come back as an empty object. */
const callArguments = fc.string().filter((input) => callInput(input) === input)
const part: fc.Arbitrary<OutputPart> = fc.oneof(
  fc.record({ type: fc.constant('text' as const), text: words }),
  fc.record({
    type: fc.constant('text' as const),
    text: words,
    annotations: fc.array(annotation, { minLength: 1, maxLength: 2 }),
  }),
  fc.record({ type: fc.constant('refusal' as const), text: words }),
  fc.record({ type: fc.constant('reasoning' as const), text: words, opaque: words }, { requiredKeys: ['type', 'text'] }),
  fc.record({ type: fc.constant('tool-call' as const), id, name: fc.constantFrom(...functions), input: callArguments }),
  fc.record({
    type: fc.constant('tool-call' as const),
    id,
    name: fc.constantFrom(...customTools),
    input: fc.string(),
    kind: fc.constant('custom' as const),
  }),
)

/** A part as a generation emits it, with its text in pieces of this length. */
function eventsOf(given: OutputPart, length: number): readonly GenerationEvent[] {
  const choice = 0
  switch (given.type) {
    case 'text':
      return [
        { type: 'text-start', choice },
        ...pieces(given.text, length).map((delta) => ({ type: 'text-delta', choice, delta }) as const),
        ...(given.annotations ?? []).map((source) => ({ type: 'annotation', choice, annotation: source }) as const),
        { type: 'text-end', choice },
      ]
    case 'refusal':
      return [
        { type: 'refusal-start', choice },
        ...pieces(given.text, length).map((delta) => ({ type: 'refusal-delta', choice, delta }) as const),
        { type: 'refusal-end', choice },
      ]
    case 'reasoning':
      return [
        { type: 'reasoning-start', choice },
        ...pieces(given.text, length).map((delta) => ({ type: 'reasoning-delta', choice, delta }) as const),
        { type: 'reasoning-end', choice, ...(given.opaque !== undefined && { opaque: given.opaque }) },
      ]
    case 'tool-call': {
      const { id: callId, name, kind, input } = given
      return [
        { type: 'tool-call-start', choice, id: callId, name, ...(kind !== undefined && { kind }) },
        ...pieces(input, length).map((delta) => ({ type: 'tool-call-delta', choice, id: callId, delta }) as const),
        { type: 'tool-call-end', choice, id: callId },
      ]
    }
    case 'tool-result':
    case 'media':
      return []
  }
}

function pieces(text: string, length: number): readonly string[] {
  return text.match(new RegExp(`[^]{1,${length}}`, 'g')) ?? []
}

function withoutOpaque(given: OutputPart): OutputPart {
  return given.type === 'reasoning' ? { type: 'reasoning', text: given.text } : given
}

test('what a response contains is, as the input of the next one or as its history, what the model wrote', () => {
  const turn = fc.array(part, { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(turn, fc.integer({ min: 1, max: 5 }), fc.boolean(), fc.boolean(), (parts, length, encrypts, summarises) => {
      const fields = {
        tools,
        include: encrypts ? ['reasoning.encrypted_content'] : [],
        reasoning: summarises ? { summary: 'auto' } : {},
      }
      const encoder = createResponseEncoder(decode(fields))
      const events = [start, ...parts.flatMap((given) => eventsOf(given, length)), ...finished()]
      checked(events.flatMap((event) => encoder.encode(event)))
      const { output } = encoder.snapshot()
      const expected = [{ role: 'assistant', parts: encrypts ? parts : parts.map(withoutOpaque) }]
      const replayed = decode({ ...fields, input: JSON.parse(JSON.stringify(output)) })
      expect(promptOf(replayed).messages).toEqual(expected)
      expect(replayed.ignored).toEqual([])
      const history = encoder.output.map((item) => stored({ ...JSON.parse(JSON.stringify(item.json)), id: item.id }))
      expect(promptOf(decode({ ...fields, input: [] }, { history })).messages).toEqual(expected)
    }),
    { numRuns: 60 },
  )
})
