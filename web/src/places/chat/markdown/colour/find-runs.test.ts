import { expect, test } from 'vitest'
import { codeSamples } from '../../../../../../test/support/page/code-samples.ts'
import { findRuns } from './find-runs.ts'
import { codeKinds } from './kinds.ts'

/** The kind of each character. */
async function kindsOf(language: string, code: string): Promise<string[]> {
  const runs = (await findRuns(language, code)) ?? new Uint32Array()
  return Array.from({ length: runs.length / 2 }, (_, at) => at * 2).flatMap((at) =>
    Array<string>(runs[at] ?? 0).fill(codeKinds[runs[at + 1] ?? 0] ?? ''),
  )
}

test.each(codeSamples)('%s has its colours, for every character', async (language, code, tokens) => {
  const kinds = await kindsOf(language, code)
  expect(kinds).toHaveLength(code.length)
  for (const [text, kind] of tokens) {
    expect([...new Set(kinds.slice(code.indexOf(text), code.indexOf(text) + text.length))], text).toEqual([kind])
  }
})

test('at least thirty languages have samples', () => {
  expect(new Set(codeSamples.map(([language]) => language)).size).toBeGreaterThanOrEqual(30)
})

test('code within a string has the colours of code', async () => {
  const code = 'const a = `b $'.concat('{c("d")} e`')
  const kinds = await kindsOf('js', code)
  expect([kinds[code.indexOf('b ')], kinds[code.indexOf('c(')], kinds[code.indexOf('"d"')], kinds[code.indexOf(' e')]]).toEqual([
    'string',
    'plain',
    'string',
    'string',
  ])
})

test.each(['', 'text', 'prose', 'constructor', '__proto__', 'no such language'])('%j is not a language', async (name) => {
  expect(await findRuns(name, 'let a = 1')).toBeUndefined()
})
