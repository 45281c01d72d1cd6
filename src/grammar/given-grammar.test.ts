import { expect, test } from 'vitest'
import { createMatcher } from '../../test/support/llama/gbnf-matcher.ts'
import { givenGrammar } from './given-grammar.ts'

test.each([
  ['GBNF', 'root ::= "yes" | "no"'],
  ["Lark's language", 'start: "yes" | "no"'],
  ["Lark's language, with marks of rules and a comment", '// answers\n?start: WORD\nWORD.2: "yes" | "no"'],
])('a grammar in %s constrains', (_, text) => {
  const matcher = createMatcher(givenGrammar(text))
  expect(['yes', 'no', 'maybe'].map(matcher.matches)).toEqual([true, true, false])
})

test.each(['start: other', 'root ::= other'])('a mistake in %j is told with the name of its field', (text) => {
  expect(() => givenGrammar(text, { param: 'grammar_string' })).toThrow(expect.objectContaining({ param: 'grammar_string' }))
})
