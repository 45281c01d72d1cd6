import { describe, expect, test } from 'vitest'
import { createMatcher } from '../../test/support/llama/gbnf-matcher.ts'
import { compileOutput } from './compile-output.ts'

const structures = [
  { begin: '<call:now>', schema: { const: 1 }, end: '</call>' },
  { begin: '<call:then>', schema: { type: 'boolean' }, end: '</call>' },
  { begin: '[it', schema: { type: 'integer', minimum: 7, maximum: 9 }, end: '' },
]
const { grammar, enforcement } = compileOutput({
  output: { type: 'tagged', structures, triggers: ['<call:', '[it'] },
  param: 'output',
})

describe('a text with structures', () => {
  test.each([
    '',
    'Nothing is called here, although 1 < 2 and <call is said [i].',
    '<call:now>1</call>',
    'First <call:then>true</call>, then [it7 and <call:now>1</call> again.',
    '<<call:now>1</call>',
  ])('a text with structures has the JSON of their schemas where a trigger stands: %s', (text) => {
    expect(createMatcher(grammar).matches(text)).toBe(true)
    expect(enforcement).toBe('full')
  })

  test.each([
    '<call:',
    '<call:never>1</call>',
    '<call:now>2</call>',
    '<call:now>1',
    'so [it6',
    '<call:then>true</call><call:now>',
  ])('a text with structures has nothing else behind a trigger: %s', (text) => {
    expect(createMatcher(grammar).matches(text)).toBe(false)
  })
})
