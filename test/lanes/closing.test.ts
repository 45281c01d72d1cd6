import { expect, test } from 'vitest'
import { allowedInNightly, closingLines, type RanTest } from './closing.ts'

const ran = (name: string, state: RanTest['state'] = 'passed', isFlaky = false): RanTest => ({ name, state, isFlaky })
const flaky = (count: number) => Array.from({ length: count }, (_, index) => ran(`a.test.ts > ${index}`, 'passed', true))
const allowed = [{ why: 'there is no moon', tests: ['moon.test.ts', 'sun.test.ts > eclipse'] }]
const skipped = [
  ran('moon.test.ts > rises', 'skipped'),
  ran('sun.test.ts > eclipses', 'skipped'),
  ran('sun.test.ts > rises', 'skipped'),
]

test('the last line has the counts', () => {
  expect(closingLines([ran('a'), ran('b'), ran('c', 'failed')], [], true)).toEqual(['2 passed, 1 failed, 0 skipped'])
})

test('tests that passed only when tried again are named, and pass', () => {
  expect(closingLines([...flaky(3), ran('b')], [], true)).toEqual([
    'passed only when tried again: a.test.ts > 0',
    'passed only when tried again: a.test.ts > 1',
    'passed only when tried again: a.test.ts > 2',
    '4 passed, 0 failed, 0 skipped',
  ])
})

test('why they failed is told in their line', () => {
  const failed = { ...ran('a', 'passed', true), failure: 'expected 1 to be 2\n- 1\n+ 2' }
  expect(closingLines([failed], [], true)[0]).toBe('passed only when tried again: a: expected 1 to be 2 - 1 + 2')
})

test('more than three of them count as failed', () => {
  expect(closingLines([...flaky(4), ran('b')], [], false).slice(-2)).toEqual([
    '4 tests passed only when tried again: more than 3 count as failed',
    '1 passed, 4 failed, 0 skipped',
  ])
})

test('what may be skipped is a line for each reason; what may not counts as failed', () => {
  expect(closingLines(skipped, allowed, true)).toEqual([
    '2 skipped: there is no moon',
    'skipped, which test/lanes/allowed-skips.ts does not allow: sun.test.ts > rises',
    '0 passed, 1 failed, 2 skipped',
  ])
})

test('what CI leaves out because `npm run nightly` runs it counts as failed when skipped there', () => {
  const all = [...allowed, { why: 'at night only', isNightly: true, tests: ['sun.test.ts > rises'] }]
  expect(closingLines(skipped, all, true).at(-1)).toBe('0 passed, 0 failed, 3 skipped')
  expect(closingLines(skipped, allowedInNightly(all), true).slice(-2)).toEqual([
    'skipped, which test/lanes/allowed-skips.ts does not allow: sun.test.ts > rises',
    '0 passed, 1 failed, 2 skipped',
  ])
})

test('outside of CI, what this machine lacks is skipped', () => {
  expect(closingLines(skipped, allowed, false)).toEqual([
    '2 skipped: there is no moon',
    '1 skipped: npm run doctor-dev shows what this machine lacks',
    '0 passed, 0 failed, 3 skipped',
  ])
})
