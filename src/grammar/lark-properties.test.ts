import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { larkToGbnf } from './lark/lark-grammar.ts'
import { type LarkTree, parseLark } from './lark/lark-syntax.ts'
import { GrammarError } from './rules/grammar-error.ts'
import { createGbnfMatcher } from './run/gbnf-matcher.ts'

/** The texts of rules over `a` and `b`, up to a length, by repeated application of the definitions. */
function textsOf(lark: string, maxLength: number): ReadonlySet<string> {
  const { definitions } = parseLark(lark)
  const known = new Map([...definitions.keys()].map((name): [string, ReadonlySet<string>] => [name, new Set()]))
  const join = (left: ReadonlySet<string>, right: ReadonlySet<string>) =>
    new Set([...left].flatMap((one) => [...right].map((other) => one + other).filter((text) => text.length <= maxLength)))
  const read = (tree: LarkTree): ReadonlySet<string> => {
    switch (tree.type) {
      case 'name':
        return known.get(tree.name) ?? new Set()
      case 'text':
        return new Set([tree.text])
      case 'sequence':
        return tree.parts.map(read).reduce(join, new Set(['']))
      case 'choice':
        return new Set(tree.options.flatMap((option) => [...read(option)]))
      case 'repeat': {
        const part = read(tree.part)
        const most = Math.max(tree.min, tree.max ?? maxLength)
        let texts = new Set(tree.min === 0 ? [''] : [])
        let times: ReadonlySet<string> = new Set([''])
        for (let count = 1; count <= most; count++) {
          times = join(times, part)
          if (count >= tree.min) texts = new Set([...texts, ...times])
        }
        return texts
      }
      case 'range':
      case 'regex':
        throw new Error(`the grammars of this test have no ${tree.type}`)
    }
  }
  for (let before = -1, size = 0; size !== before; ) {
    before = size
    for (const [name, tree] of definitions) known.set(name, read(tree))
    size = [...known.values()].reduce((sum, texts) => sum + texts.size, 0)
  }
  return known.get('start') ?? new Set()
}

const { tree } = fc.letrec<{ tree: string }>((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom('"a"', '"b"', '"a"', '"b"', '"ab"', 'start', 'x', 'y'),
    fc.array(tie('tree'), { minLength: 2, maxLength: 3 }).map((parts) => `(${parts.join(' ')})`),
    fc.array(tie('tree'), { minLength: 2, maxLength: 3 }).map((options) => `(${options.join(' | ')})`),
    fc.tuple(tie('tree'), fc.constantFrom('*', '+', '?', '~2', '~1..2')).map(([part, sign]) => `(${part})${sign}`),
    tie('tree').map((part) => `[${part}]`),
  ),
}))

/** All texts over `a` and `b` of up to four letters. */
const texts = Array.from({ length: 4 }).reduce<readonly string[]>(
  (all) => [...new Set([...all, ...all.flatMap((text) => [`${text}a`, `${text}b`])])],
  [''],
)

describe('the GBNF of a grammar in the language of Lark', () => {
  test('the GBNF allows the same texts, also where rules begin with themselves or repeat what is empty', () => {
    let compared = 0
    fc.assert(
      fc.property(fc.tuple(tree, tree, tree), ([start, x, y]) => {
        const lark = `start: ${start}\nx: ${x}\ny: ${y}`
        const found = unlessRefused(() => texts.filter(createGbnfMatcher(larkToGbnf(lark))))
        if (found === undefined) return
        const expected = textsOf(lark, 4)
        compared += 1
        expect(found).toEqual(texts.filter((text) => expected.has(text)))
      }),
      { numRuns: 200 },
    )
    expect(compared).toBeGreaterThan(100)
  })
})

/** Undefined for a grammar without texts or past a limit, and for rules that begin with themselves after empty ones. */
function unlessRefused<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof GrammarError) return undefined
    throw error
  }
}
