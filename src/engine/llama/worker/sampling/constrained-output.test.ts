import { describe, expect, test } from 'vitest'
import { LruMap } from '../../../../base/lru-map.ts'
import { GrammarMachine } from '../../../../grammar/run/machine.ts'
import { compileProgram } from '../../../../grammar/run/program.ts'
import type { Token } from '../../binding/tokenizer.ts'
import { ConstrainedOutput } from './constrained-output.ts'
import { createTokenTrie } from './token-trie.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const [eurosign] = [bytes('€')]
/** Texts, then pieces of `€`, a NUL, a control token without text, and the end of the turn. */
const pieces: readonly Uint8Array[] = [
  ...['a', 'ab', 'abc', 'b', ' b', 'é', '日本', 'ab', 'x'].map(bytes),
  eurosign?.slice(0, 1) ?? bytes(''),
  eurosign?.slice(1) ?? bytes(''),
  bytes('\0'),
  bytes(''),
  bytes('<tag>'),
  bytes(''),
]
const [tag, end] = [13, 14] as Token[]
const given = pieces.slice(0, 13).map((piece, token) => ({ token: token as Token, bytes: piece }))
const vocabulary = {
  trie: createTokenTrie(given, pieces.length),
  size: pieces.length,
  visibleTokens: [{ token: tag as Token, bytes: bytes('<tag>') }],
  endTokens: [end as Token],
  bytesOf: (token: Token) => pieces[token] ?? bytes(''),
}

function open(gbnf: string): ConstrainedOutput {
  const create = () => new GrammarMachine(compileProgram(gbnf))
  return new ConstrainedOutput({ current: create(), renew: create, allowed: new LruMap({ max: 64 }) }, vocabulary)
}

/** What may follow some tokens, by number. */
function allowed(gbnf: string, before: readonly number[] = []): number[] {
  const output = open(gbnf)
  for (const token of before) output.accept(token as Token)
  const bits = output.allowed()
  const all = pieces.map((_, token) => token)
  const found = all.filter((token) => ((bits[token >> 5] as number) & (1 << (token & 31))) !== 0)
  // Both ways to ask agree.
  expect(all.filter((token) => output.allows(token as Token))).toEqual(found)
  return found
}

describe('ConstrainedOutput', () => {
  test.each<[string, readonly number[], readonly number[]]>([
    ['root ::= "abc"', [], [0, 1, 2, 7]],
    ['root ::= "abb"', [0], [3]],
    ['root ::= [ab]+', [1], [0, 1, 3, 7, 14]],
    ['root ::= "é" | "日本語" | " b"', [], [4, 5, 6]],
    ['root ::= "<tag>" "x"', [], [13]],
    ['root ::= "<tag>" "x"', [13], [8]],
    ['root ::= "x"?', [], [8, 14]],
    ['root ::= "x"?', [8], [14]],
    ['root ::= "€" "a"', [], [9]],
    ['root ::= "€" "a"', [9], [10]],
    ['root ::= "€" "a"', [9, 10], [0]],
    ['root ::= [^a]', [], [3, 5, 8, 9]],
  ])('%s can follow %j', (gbnf, before, expected) => {
    expect(allowed(gbnf, before)).toEqual(expected)
  })

  test('an output cannot end inside a character', () => {
    const output = open('root ::= "€"?')
    expect(output.isComplete).toBe(true)
    output.accept(9 as Token)
    expect(output.isComplete).toBe(false)
    output.accept(10 as Token)
    expect(output.isComplete).toBe(true)
  })

  test('a token that the grammar does not allow is not accepted', () => {
    expect(() => open('root ::= "b"').accept(0 as Token)).toThrow('does not allow')
  })

  test('what is certain ends where the output may end or differ, and at the limit', () => {
    const output = open('root ::= "abx€" [ab] "x"?')
    expect([output.certain(64), output.certain(2)]).toEqual(['abx€', 'ab'])
    for (const token of [1, 8, 9]) output.accept(token as Token)
    expect(output.certain(64)).toBe('')
    for (const token of [10, 0]) output.accept(token as Token)
    expect(output.certain(64)).toBe('')
  })

  test('a text that the vocabulary cannot write is a failure of the engine', () => {
    expect(() => open('root ::= "z"').allowed()).toThrow(expect.objectContaining({ code: 'engine-failed' }))
  })

  test('a grammar that takes more and more work ends with an error of the request', () => {
    const output = open('root ::= s\ns ::= [a-z ] s "a" | [a-z ] s "b" | [a-z ]')
    const run = () => {
      for (let count = 0; count < 40; count++) output.accept(0 as Token)
    }
    expect(run).toThrow(expect.objectContaining({ code: 'unsupported-field', at: ['output'] }))
  })

  test('a long output under a grammar without limit does not keep growing', () => {
    const output = open('root ::= ("a" | "b" | "x")*')
    for (let count = 0; count < 20_000; count++) output.accept((count % 2 === 0 ? 0 : 3) as Token)
    expect(output.isComplete).toBe(true)
  })
})
