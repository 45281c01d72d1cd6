import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const read = (path: string) => readFileSync(fileURLToPath(new URL(`../${path}`, import.meta.url)), 'utf8')
const rows = [...read('docs/cancelling.md').matchAll(/^\| (C\d+b?) +\| .+ \| `([^`]+)` +\|$/gm)].map(
  ([, rule = '', file = '']) => ({
    rule,
    file,
  }),
)

test('docs/cancelling.md names each rule once', () => {
  const rules = rows.map(({ rule }) => rule)
  expect(new Set(rules).size).toBe(rules.length)
  expect(rules.length).toBeGreaterThan(35)
})

test.each(rows)('rule $rule of cancelling is in the name of a test of $file', ({ rule, file }) => {
  const names = [...read(file).matchAll(/(?:test|describe|\]\)|\))\(\s*(['"`])((?:(?!\1).)*)\1/g)].map(([, , name = '']) => name)
  expect(names.some((name) => new RegExp(`\\b${rule}\\b`).test(name))).toBe(true)
})
