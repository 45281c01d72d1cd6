import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const rows = read('docs/inside/claims.md')
  .split('\n')
  .filter((line) => line.startsWith('|') && !/^\| (claim|-)/.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim()))

test('each claim of the README has something behind it', () => {
  expect(rows.length).toBeGreaterThanOrEqual(30)
})

test.each(rows.map(([, claim = '', evidence = '']) => ({ claim, evidence })))('$claim: $evidence', ({ evidence }) => {
  const [, file, name] = /^`([^`]+)`: (.+)$/.exec(evidence) ?? []
  if (file !== undefined && name !== undefined) {
    expect(existsSync(new URL(`../../${file}`, import.meta.url))).toBe(true)
    expect(read(file)).toContain(name)
    return
  }
  const [, run] = /^\[recorded\]\(recorded-runs\.md\): (.+)$/.exec(evidence) ?? []
  expect(run).toBeDefined()
  expect(read('docs/inside/recorded-runs.md')).toContain(run)
})
