import { describe, expect, test } from 'vitest'
import { hermes, parse } from '../../../test/support/parse-output.ts'
import { createOutputParser } from './output-parser.ts'

const call = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'

describe('white space around calls and reasoning', () => {
  test.each([
    { name: 'without text', raw: ' \n', text: ' \n' },
    { name: 'in front of text', raw: ' \nHi', text: ' \nHi' },
    { name: 'in front of a call', raw: ` \n${call}`, text: '' },
    { name: 'between text and a call', raw: `Hi \n${call}`, text: 'Hi \n' },
    { name: 'between two calls', raw: `${call}\n\n${call}`, text: '' },
    { name: 'after the last call', raw: `Hi${call}\n`, text: 'Hi' },
    { name: 'between a call and text', raw: `${call}\nHi`, text: '\nHi' },
    { name: 'on both sides of a call', raw: `one\n${call}\ntwo`, text: 'one\ntwo' },
    { name: 'on both sides of several calls', raw: `one\n${call}\n${call}\ntwo`, text: 'one\ntwo' },
    { name: 'after a call only', raw: `one${call} two`, text: 'one two' },
    { name: 'in front of reasoning', raw: '\n<think>hm</think>Hi', text: 'Hi' },
    { name: 'after reasoning, without text', raw: '<think>hm</think>', text: '' },
    { name: 'between reasoning and a call', raw: `<think>hm</think>\n\n${call}`, text: '' },
  ])('$name', ({ raw, text }) => {
    expect(parse(raw).text).toBe(text)
  })

  test('after reasoning is text where the template writes none there', () => {
    const format = { toolFormat: 'hermes', reasoning: { open: '<think>', close: '</think>' }, startsInReasoning: false }
    expect(parse('<think>hm</think> \n', { format }).text).toBe(' \n')
    expect(parse(`one <think>hm</think> two`, { format }).text).toBe('one <think>hm</think> two')
  })
})

test('a tag that counts only at the beginning of an answer counts after reasoning', () => {
  const format = {
    toolFormat: 'functionary-v3.2',
    reasoning: { open: '<think>', close: '</think>' },
    startsInReasoning: false,
  }
  expect(parse('<think>hm</think>all\nHi', { format }).text).toBe('Hi')
})

test.each([
  ['of no format', {}, ['\n', ' ', ' x']],
  ['of a format with reasoning', { format: hermes }, [undefined, undefined, '\n  x']],
])(
  'white space at the start of an answer %s: as it comes, or held while it may stand in front of reasoning',
  (_, options, deltas) => {
    const parser = createOutputParser(options)
    const seen = ['\n', ' ', ' x'].map((text) => {
      const event = parser.push({ type: 'raw-text', choice: 0, text }).find(({ type }) => type === 'text-delta')
      return event?.type === 'text-delta' ? event.delta : undefined
    })
    expect(seen).toEqual(deltas)
  },
)
