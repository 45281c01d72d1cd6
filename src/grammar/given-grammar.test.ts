import { expect, test } from 'vitest'
import { createMatcher } from '../../test/support/llama/gbnf-matcher.ts'
import { givenGrammar } from './given-grammar.ts'

test.each([
  ['GBNF', 'root ::= "yes" | "no"'],
  ["Lark's language", 'start: "yes" | "no"'],
  ['KBNF', 'start ::= "yes" | "no";'],
  [
    'KBNF, with comments, other quotes and names in capitals',
    "(* one of two; *) start ::= Answer_1;\nAnswer_1 ::= 'y' 'es' | #'n\\\\w' ; (* end *)",
  ],
  ['KBNF, with optional and repeated parts', 'start ::= "y" [ "es" ] | "n" { "o" };'],
  ['GBNF that ends in a comment with a semicolon', 'root ::= "yes" | "no" # done;'],
  ["Lark's language, with marks of rules and a comment", '// answers\n?start: WORD\nWORD.2: "yes" | "no"'],
])('a grammar in %s constrains', (_, text) => {
  const matcher = createMatcher(givenGrammar(text))
  expect(['yes', 'no', 'maybe'].map(matcher.matches)).toEqual([true, true, false])
})

test('KBNF has regular expressions, with escapes as in its texts', () => {
  const matcher = createMatcher(
    givenGrammar(String.raw`start ::= integer "/" string;
integer ::= #"-?(0|[1-9]\\d*)";
string ::= #'"([^\\\\"\u0000-\u001f]|\\\\["/])*"';`),
  )
  expect([String.raw`-120/"a\"b"`, '1/""', '01/"a"', '1/"'].map(matcher.matches)).toEqual([true, true, false, false])
})

test.each([
  ['start ::= except!("a");', /line 1: 'except!' cannot be used/],
  ['start ::= "a";\nb ::= (* no end ;', /line 2: the comment has no end/],
  ['start ::= "a" & "b";', /line 1: '&' cannot be used/],
  ['start ::= other;', /'other' is not defined/],
])('%j is refused', (text, message) => {
  expect(() => givenGrammar(text)).toThrow(message)
})

test.each(['start: other', 'root ::= other', 'start ::= other;'])('a mistake in %j names its field', (text) => {
  expect(() => givenGrammar(text, { param: 'grammar_string' })).toThrow(expect.objectContaining({ param: 'grammar_string' }))
})
