import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { codePoint } from '../../../test/support/code-point.ts'
import { cutAt, hermes, parseOutput, think, tools } from '../../../test/support/parse-output.ts'
import { roundsOf } from '../../../test/support/process/soak-length.ts'
import type { EngineEvent } from '../../contract/event.ts'
import type { OutputFormat } from '../../contract/output-format.ts'
import { toolFormatNames } from '../formats/format-names.ts'
import { createOutputParser } from './output-parser.ts'

const tags = [
  ...['<tool_call>', '</tool_call>', '<function=f>', '<function=', '<parameter=s>', '</parameter>', '</function>', '<think>'],
  ...[
    '</think>',
    '[TOOL_CALLS]',
    '[ARGS]',
    '[',
    ']',
    '{',
    '}',
    '"',
    "'",
    '\\',
    ',',
    ':',
    ' ',
    '\n',
    '(',
    ')',
    '=',
    'f',
    'g',
    '```json',
  ],
  ...['"name"', '"arguments"', '{"name": "f", "arguments": {', 'f(', '<|python_tag|>', '<|channel|>', '<|message|>', '<|end|>'],
  ...[
    '<｜tool▁calls▁begin｜>',
    '<｜tool▁call▁begin｜>',
    '<｜tool▁sep｜>',
    '<|tool_call>call:f{',
    '<|"|>',
    '>>>f\n',
    'Action: f\n',
    'Action Input:',
  ],
  ...[
    '<arg_key>',
    '</arg_key>',
    '<arg_value>',
    '</arg_value>',
    '<invoke name="f">',
    '<minimax:tool_call>',
    'null',
    '1',
    '😀',
    'é',
    '<|start|>',
  ],
  ...[
    ']<]minimax[>[<invoke name="f">',
    ']<]minimax[>[<s>',
    ']<]minimax[>[</s>',
    '<|open|>call tool="f"<|sep|>',
    '<|close|>call<|sep|>',
  ],
]
const pieces = fc.array(fc.oneof(fc.constantFrom(...tags), fc.string({ maxLength: 4 })), { maxLength: 25 })
const anyFormat = fc.constantFrom(
  ...toolFormatNames.flatMap((toolFormat): OutputFormat[] => [
    { toolFormat, startsInReasoning: false },
    { toolFormat, startsInReasoning: false, reasoning: think },
    { toolFormat, startsInReasoning: true, reasoning: think },
  ]),
)
const someTools = fc.subarray([...tools, { name: 'name' }, { name: '' }, { name: 'a.b-c' }])

describe('any text', () => {
  test('nothing throws, and the result is the same for every split', () => {
    fc.assert(
      fc.property(
        pieces,
        anyFormat,
        someTools,
        fc.array(fc.nat(200), { maxLength: 20 }),
        fc.constantFrom('stop', 'length'),
        (texts, format, declared, cuts, reason) => {
          const raw = texts.join('')
          const options = { format, tools: declared }
          const { events: _, ...whole } = parseOutput(options, [raw], reason)
          for (const chunks of [[...raw], texts, cutAt(raw, cuts)]) {
            const { events: __, ...cut } = parseOutput(options, chunks, reason)
            expect(cut).toEqual(whole)
          }
        },
      ),
      { numRuns: roundsOf(250, 1000) },
    )
  })

  test('text without tags is unchanged', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: codePoint, maxLength: 60 }),
        anyFormat,
        fc.array(fc.nat(60), { maxLength: 8 }),
        (raw, format, cuts) => {
          const { text, calls } = parseOutput({ format: { ...format, startsInReasoning: false }, tools }, cutAt(raw, cuts))
          expect({ text, calls }).toEqual({ text: raw, calls: [] })
        },
      ),
    )
  })

  test('text is complete if calls are begun in it and none is made', () => {
    const format: OutputFormat = { toolFormat: 'hermes', startsInReasoning: false }
    fc.assert(
      fc.property(pieces, (all) => {
        // The end tag of a call that was not begun is dropped, and the end of a turn.
        const texts = all.filter((text) => text !== '</tool_call>' && text !== '<|end|>')
        const raw = texts.join('')
        expect(parseOutput({ format, tools: [{ name: 'undeclared' }] }, texts).text).toBe(raw)
      }),
    )
  })

  test('each token is emitted exactly once, in order, whatever text is held', () => {
    const formats = [...toolFormatNames.map((toolFormat): OutputFormat => ({ ...hermes, toolFormat })), undefined]
    fc.assert(
      fc.property(pieces, fc.constantFrom(...formats), (texts, format) => {
        const parser = createOutputParser({ format, tools })
        const raw = texts.map(
          (text, id): Extract<EngineEvent, { type: 'raw-text' }> => ({
            type: 'raw-text',
            choice: 0,
            text,
            tokens: [{ id, text, bytes: [...Buffer.from(text)], logprob: -1, top: [] }],
          }),
        )
        const events = [...raw.flatMap((event) => [...parser.push(event)]), ...parser.end(0)]
        const left = events.flatMap((event) => ('tokens' in event ? (event.tokens ?? []) : []))
        expect(left.map(({ id }) => id)).toEqual(texts.map((_, id) => id))
      }),
    )
  })
})
