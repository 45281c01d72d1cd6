import { expect, test } from 'vitest'
import { findRules } from './find-rules.ts'
import { parseGbnf } from './gbnf-syntax.ts'

const empty = (grammar: string) =>
  [...findRules(parseGbnf(grammar), (leaf) => leaf.type === 'literal' && leaf.text === '')].sort()

test.each<[string, string[]]>([
  ['a ::= ""', ['a']],
  ['a ::= "x"', []],
  ['a ::= [x]', []],
  ['a ::= "x" | b\nb ::= "" ""', ['a', 'b']],
  ['a ::= b c b\nb ::= ""\nc ::= b | "x"', ['a', 'b', 'c']],
  ['a ::= b c\nb ::= ""\nc ::= "x"', ['b']],
  ['a ::= "x"? [y]*', ['a']],
  ['a ::= b+\nb ::= c{2}\nc ::= ""', ['a', 'b', 'c']],
  ['a ::= b\nb ::= a', []],
  ['a ::= (b | "x") (b | c)\nb ::= ""\nc ::= ""', ['a', 'b', 'c']],
])('in %j, %j may be empty', (grammar, names) => {
  expect(empty(grammar)).toEqual(names)
})

test('visits each name a bounded number of times, in any order of the rules', () => {
  const count = 3000
  const names = Array.from({ length: count }, (_, index) => `r${index}`)
  const leaves = names.map((name) => `${name} ::= "a"`)
  const chain = names.map((name, index) => `${name} ::= ${names[index + 1] ?? '"a"'}`)
  for (const rows of [leaves, leaves.toReversed(), chain, chain.toReversed()]) {
    let looks = 0
    const rules = parseGbnf(`root ::= ${names.join(' ')}\n${rows.join('\n')}`)
    const found = findRules(rules, (leaf) => {
      looks += 1
      return leaf.type !== 'rule'
    })
    expect(found.size).toBe(count + 1)
    expect(looks).toBeLessThanOrEqual(3 * count)
  }
})
