import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { testTitles } from './test-titles.ts'

const read = (path: string) => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8')
const rows = [...read('docs/inside/cancel-rules.md').matchAll(/^\| (C\d+b?) +\| .+ \| `([^`]+)` +\|$/gm)].map(
  ([, rule = '', file = '']) => ({
    rule,
    file,
  }),
)

test('docs/inside/cancel-rules.md names each rule from C1 to C46 once: in the table, or where it says why it is not there', () => {
  const absent = /^Not in the table: [^\n]*/m.exec(read('docs/inside/cancel-rules.md'))?.[0].match(/\bC\d+b?\b/g) ?? []
  const rules = [...rows.map(({ rule }) => rule), ...absent]
  const numbered = Array.from({ length: 46 }, (_, index) => `C${index + 1}`)
  expect(rules.toSorted()).toEqual([...numbered, 'C22b'].toSorted())
})

test.each(rows)('rule $rule of cancelling is in the name of a test of $file', ({ rule, file }) => {
  expect(testTitles(file).some((name) => new RegExp(`\\b${rule}\\b`).test(name))).toBe(true)
})
