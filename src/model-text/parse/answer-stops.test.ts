import { describe, expect, test } from 'vitest'
import { chunkings } from '../../../test/support/parse-output.ts'
import type { OutputFormat } from '../../contract/output-format.ts'
import { AnswerStops } from './answer-stops.ts'

const think: OutputFormat = { reasoning: { open: '<think>\n', close: '\n</think>\n\n' }, startsInReasoning: false }
const special: OutputFormat = { reasoning: { open: '<|START_THINKING|>', close: '<|END_THINKING|>' }, startsInReasoning: false }
const harmony: OutputFormat = {
  toolFormat: 'harmony',
  reasoning: { open: '<|channel|>analysis<|message|>', close: '<|end|>' },
  startsInReasoning: false,
}

const kimiK3: OutputFormat = {
  toolFormat: 'kimi-k3',
  reasoning: { open: '<|open|>think<|sep|>', close: '<|close|>think<|sep|>' },
  startsInReasoning: true,
}

/** The text up to the stop sequence, the same however it is cut. */
function read(raw: string, format: OutputFormat | undefined, sequences: readonly string[], turnEnds: readonly string[] = []) {
  const results = chunkings(raw).map((pieces) => {
    const stops = new AnswerStops(sequences, format, turnEnds)
    let text = ''
    for (const piece of pieces) {
      const step = stops.push(piece)
      text += step.text
      if (step.stopSequence !== undefined) return { text, stopSequence: step.stopSequence }
    }
    return { text: text + stops.end() }
  })
  for (const result of results) expect(result).toEqual(results[0])
  return results[0]
}

describe('stop sequences', () => {
  test.each<[string, OutputFormat | undefined, string, string]>([
    ['between tags', think, '<think>\na STOP b\n</think>\n\nhello ', 'STOP world'],
    ['that the prompt opened', { ...think, startsInReasoning: true }, 'a STOP b\n</think>\n\nhello ', 'STOP world'],
    ['after white space', think, '\n<think>STOP</think>', 'STOP'],
    ['that comes twice', think, '<think>STOP</think>\n<think>STOP</think>hello ', 'STOP'],
    ['in special tokens, also after text', special, 'So <|START_THINKING|>STOP<|END_THINKING|> hello ', 'STOP'],
    ['that the answer ends', kimiK3, 'STOP<|open|>response<|sep|>hello ', 'STOP'],
    [
      'in a message of its own',
      harmony,
      '<|channel|>analysis<|message|>STOP<|end|><|start|>assistant<|channel|>final<|message|>hello ',
      'STOP',
    ],
    [
      'in a message whose start is in the prompt',
      { ...harmony, startsInReasoning: true },
      'STOP<|end|><|start|>assistant<|channel|>final<|message|>h',
      'STOP',
    ],
  ])('do not end reasoning %s', (_, format, before, after) => {
    expect(read(before + after, format, ['STOP'])).toEqual({ text: before, stopSequence: 'STOP' })
  })

  test.each<[string, OutputFormat | undefined]>([
    ['without a format', undefined],
    ['of a format without reasoning', { toolFormat: 'hermes', startsInReasoning: false }],
    ['of a model that may reason, and does not', think],
    ['that mentions a tag', think],
  ])('end text %s', (_, format) => {
    expect(read('Use <think> STOP or not', format, ['STOP'])).toEqual({ text: 'Use <think> ', stopSequence: 'STOP' })
  })

  test('are not looked for in headers, and not in the white space behind reasoning', () => {
    const raw = '<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>hello'
    expect(read(raw, harmony, ['assistant', 'final'])).toEqual({ text: raw })
    expect(read('<think>a\n\nb</think>\n\nhello\n\nworld', think, ['\n\n'])).toEqual({
      text: '<think>a\n\nb</think>\n\nhello',
      stopSequence: '\n\n',
    })
  })

  test('do not begin in reasoning and end behind it', () => {
    expect(read('<think>ST</think>OP', think, ['STOP', 'ST</think>OP'])).toEqual({ text: '<think>ST</think>OP' })
  })

  test('where a turn ends, the text ends in reasoning, too', () => {
    expect(read('<think>a STOP<|im_end|>b', think, ['STOP'], ['<|im_end|>'])).toEqual({
      text: '<think>a STOP',
      stopSequence: '<|im_end|>',
    })
    expect(read('a ST<|im_end|>OP', think, ['STOP'], ['<|im_end|>'])).toEqual({ text: 'a ST', stopSequence: '<|im_end|>' })
  })

  test.each(['<thi', '<think>a STOP', '<|channel|>ana', '<|channel|>final<|mess', 'a </thi'])(
    'a text that ends in %j is complete',
    (raw) => {
      expect(read(raw, think, ['STOP'])).toEqual({ text: raw })
      expect(read(raw.replace('STOP', ''), harmony, ['STOP'])).toEqual({ text: raw.replace('STOP', '') })
    },
  )
})
