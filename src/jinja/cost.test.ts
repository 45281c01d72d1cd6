import { expect, test } from 'vitest'
import { compileJinja } from './jinja-template.ts'

const texts = Array.from({ length: 1000 }, (_, index) => `k${(index * 7919) % 997}`)
const entries = Object.fromEntries(texts.map((text, index) => [text, `v${index}`]))
const copies = Array.from({ length: 40 }, () => `${'ab'.repeat(30_000)}x`)
const long = 'a'.repeat(100_000)

/** Work that is done inside one expression, and how many steps it is worth. */
test.each<[source: string, steps: number, variables: Record<string, unknown>]>([
  ['t | sort(case_sensitive=true)', 40_000, { t: texts }],
  ['t | sort(reverse=true, case_sensitive=true)', 40_000, { t: texts }],
  ['t.sort()', 40_000, { t: texts }],
  ['d | dictsort(true)', 40_000, { d: entries }],
  ["d | dictsort(true, by='value')", 5_000, { d: entries }],
  ['d | tojson(sort_keys=true)', 30_000, { d: entries }],
  ['t | sort(case_sensitive=true)', 30_000, { t: copies }],
  ['t | max(true)', 30_000, { t: copies }],
  ['t.count(u)', 30_000, { t: copies, u: `${'ab'.repeat(30_000)}x` }],
  ['t == u', 30_000, { t: copies, u: copies.map((copy) => `${copy.slice(0, -1)}x`) }],
  ['u in t', 500_000, { t: long, u: `${'a'.repeat(999)}b` }],
  ['t.find(u)', 500_000, { t: long, u: `${'a'.repeat(999)}b` }],
  ["t.replace(u, '')", 500_000, { t: long, u: `b${'a'.repeat(999)}` }],
  ['t.partition(u)', 500_000, { t: long, u: `${'a'.repeat(999)}b` }],
  ["m | map(attribute='a.b') | list", 20_000, { m: texts.map((text) => ({ a: { b: text } })) }],
  ['t | sum', 3_000, { t: Array.from({ length: 3000 }, () => 1) }],
  ['t.split()', 40_000, { t: long }],
  ['t.title()', 100_000, { t: long }],
  ['t | title', 100_000, { t: long }],
  ['t.isalnum()', 40_000, { t: long }],
])('%s pays %i steps', (source, steps, variables) => {
  const template = compileJinja(`{% set x = ${source} %}`, { rules: 'llama.cpp' })
  const cost = (limit: number) => () => template.render(variables, { steps: limit, memory: 1 << 28 })
  expect(cost(steps)).toThrow('too many steps')
  expect(cost(steps * 100)).not.toThrow()
})

test('what templates search for costs no more than reading the text', () => {
  const template = compileJinja("{{ '</think>' in t }}{{ t.split('</think>') | length }}{{ t == u }}")
  expect(template.render({ t: long, u: `${long}b` }, { steps: 50_000, memory: 1 << 28 })).toBe('False1False')
})
