import { describe, expect, test } from 'vitest'
import { createMatcher } from '../../../test/support/llama/gbnf-matcher.ts'
import { checkGbnf } from './check-gbnf.ts'

describe('a grammar of a caller', () => {
  test.each([
    'root ::= "yes" | "no"',
    'root ::= item+ # a comment\nitem ::= [a-z\\]\\x41] "\\n" |\n  .\n',
    '# first a comment\nroot ::= (\n  "a" | "b"\n)* "c"{2,3} rest?\nrest ::= [^"]{2,} ""\n',
    'root ::= "(" root ")" | "x"\n',
    'root ::= expr\nexpr ::= term ("+" term)*\nterm ::= [0-9]+ | "(" expr ")"',
    'root ::= ("a"{2}{3}?)?',
    'root ::= "a" {2} \t["é😀]\r\n',
  ])('%j can be used', (grammar) => {
    expect(() => checkGbnf(grammar)).not.toThrow()
  })

  test.each<[string, RegExp]>([
    ['', /no rule 'root'/],
    ['start ::= "a"', /no rule 'root'/],
    ['root ::= "a', /ends inside/],
    ['root ::= "a\\x00b"', /NUL/],
    ['root ::= "a" [\\x00-\\x00]', /NUL/],
    ['root ::= [a', /ends inside/],
    ['root ::= "\\q"', /unknown escape/],
    ['root ::= ("a"', /'\)' was expected/],
    ['root ::= "a")', /end of the rule/],
    ['root = "a"', /'::=' was expected/],
    ['root ::= a_b', /end of the rule/],
    ['root ::= word', /uses 'word', which is not defined/],
    ['root ::= root "a" | "b"', /left recursion/],
    ['root ::= a\na ::= b? a "x" | "y"\nb ::= "z"', /left recursion/],
    ['root ::= ("a"?)*', /may be empty without an upper bound/],
    ['root ::= ("a" | "")+', /may be empty/],
    ['root ::= "a" root', /none of its texts ends/],
    ['root ::= "a"{3000}', /repeats something 3000 times/],
    ['root ::= ("a"{0,100}){100}', /repeats a group/],
    ['root ::= "a"{100}{100}', /repetitions in a row/],
    [`root ::= "a"${'?'.repeat(20)}`, /repetition operators in a row/],
    [`root ::= "a"${'{1}'.repeat(20)}`, /repetition operators in a row/],
    ['root ::= "a"{3,2}', /at least 3 and at most 2/],
    ['root ::= "a"{x}', /was expected/],
    ['root ::= []', /class without characters/],
    ['root ::= <think>', /tokens of the model/],
    [`root ::= ${'('.repeat(100)}"a"${')'.repeat(100)}`, /nested groups/],
    [
      `root ::= r0\n${Array.from({ length: 3000 }, (_, index) => `r${index} ::= r${index + 1}\n`).join('')}r3000 ::= "a"`,
      /begin with one another/,
    ],
    [`root ::= "${'a'.repeat(600_000)}"`, /characters/],
    [
      `root ::= ${Array.from({ length: 10 }, (_, index) => `r${index}`).join(' ')}\n${Array.from({ length: 10 }, (_, index) => `r${index} ::= "${'a'.repeat(100)}"{2000}\n`).join('')}`,
      /elements/,
    ],
  ])('%j is refused', (grammar, message) => {
    expect(() => checkGbnf(grammar, { param: 'grammar' })).toThrow(
      expect.objectContaining({ kind: 'invalid-grammar', param: 'grammar' }),
    )
    expect(() => checkGbnf(grammar)).toThrow(message)
  })
})

test('the matcher of these tests follows the grammar', () => {
  const matcher = createMatcher('root ::= "a"{2,3} ("b" | c)* [^x]?\nc ::= "c" [d-f]')
  expect(['aa', 'aaa', 'aabcd', 'aacdcfb', 'aay'].filter((text) => !matcher.matches(text))).toEqual([])
  expect(['a', 'aaaaa', 'aacg', 'aax', 'aayy'].filter((text) => matcher.matches(text))).toEqual([])
})
