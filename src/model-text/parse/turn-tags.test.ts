import { describe, expect, test } from 'vitest'
import { parse } from '../../../test/support/parse-output.ts'
import type { OutputFormat } from '../../contract/output-format.ts'
import { toolFormatNames } from '../formats/format-names.ts'

const llamaHeader = '<|start_header_id|>assistant<|end_header_id|>'
const plain = { format: undefined, tools: [] }
const formats = toolFormatNames.filter((name) => name !== 'harmony' && name !== 'glimmer')

describe('tags around a turn', () => {
  test.each(['<|eot_id|>', '<|im_end|>', '<|eom_id|>', '<|end_of_text|>', '<end_of_turn>', '<｜end▁of▁sentence｜>', '<turn|>'])(
    '%s is not text at the end, with and without a format and tools',
    (tag) => {
      expect(parse(`hello${tag}`, plain).text).toBe('hello')
      expect(parse(`hello${tag}\n${tag}`, plain).text).toBe('hello')
      for (const toolFormat of formats) {
        const format = { toolFormat, startsInReasoning: false }
        expect(parse(`hello${tag}`, { format }).text).toBe('hello')
        expect(parse(`hello${tag}`, { format, tools: [] }).text).toBe('hello')
      }
    },
  )

  test.each([
    `${'Llama ends a turn with <|eot_id|>'}.`,
    'ChatML has <|im_start|>user and <|im_end|>, both special.',
    `A header is ${llamaHeader} in Llama 3.`,
    'In code: `<|eot_id|>`',
  ])('%j mentions them', (raw) => {
    expect(parse(raw, plain).text).toBe(raw)
  })

  test.each([
    [`${llamaHeader}\n\nhello<|eot_id|>`, 'hello'],
    ['<|im_start|>assistant\nhello', 'hello'],
    [`hello<|eot_id|>${llamaHeader}\n\n there`, 'hellothere'],
  ])('%j has the header of a turn', (raw, text) => {
    expect(parse(raw, plain).text).toBe(text)
    expect(parse(raw, { format: { toolFormat: 'llama3', startsInReasoning: false } }).text).toBe(text)
  })

  test('they end arguments and reasoning', () => {
    const format: OutputFormat = {
      toolFormat: 'hermes',
      reasoning: { open: '<think>', close: '</think>' },
      startsInReasoning: false,
    }
    expect(parse('<think>hm<|im_end|>', { format })).toEqual({ reasoning: 'hm', text: '', calls: [] })
    expect(parse('<tool_call>{"name": "f", "arguments": {"n": 1<|im_end|>', { format })).toMatchObject({
      text: '',
      calls: [{ arguments: '{"n": 1}', state: 'repaired' }],
    })
  })
})

describe('tags without their partner', () => {
  test.each([
    ['minimax-m3', { open: '<mm:think>', close: '</mm:think>' }, '</mm:think>hello', 'hello'],
    ['seed-oss', { open: '<seed:think>', close: '</seed:think>\n' }, '<seed:think>x</seed:think>\nhello', 'hello'],
    ['gemma4', { open: '<|channel>thought\n', close: '<channel|>' }, '<|channel>other\nx<channel|>hello<turn|>', 'hello'],
    ['gemma4', undefined, '<tool_call|><|tool_response>hello', 'hello'],
    [
      'tool-calls-tag',
      { open: '<think>\n', close: '\n</think>\n<answer>\n' },
      '<think>\nx\n</think>\n<answer>\nhello\n</answer>',
      'hello\n',
    ],
    [
      'tool-calls-tag',
      { open: '<think>\n', close: '\n</think>\n<answer>\n' },
      'Use <answer> and </answer>.',
      'Use <answer> and </answer>.',
    ],
    ['hermes', undefined, '<tool_call>{"name": "f", "arguments": {}}</tool_call></tool_call>hello', 'hello'],
  ] as const)('%s %j: %j', (toolFormat, reasoning, raw, text) => {
    expect(parse(raw, { format: { toolFormat, startsInReasoning: false, ...(reasoning && { reasoning }) } }).text).toBe(text)
  })
})
