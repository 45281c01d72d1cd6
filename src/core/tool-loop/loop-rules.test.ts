import { describe, expect, test } from 'vitest'
import { LoopRules } from './loop-rules.ts'

const turnsOf = (rules: LoopRules, most = 10) => {
  let turns = 0
  while (turns < most && rules.beginTurn()) turns += 1
  return turns
}

describe('turns that may call', () => {
  test.each([
    [0, 0],
    [1, 1],
    [25, 25],
  ])('with a budget of %i, %i', (budget, turns) => expect(turnsOf(new LoopRules(budget), 100)).toBe(turns))

  test('without a limit, any number', () => expect(turnsOf(new LoopRules(Number.POSITIVE_INFINITY), 1000)).toBe(1000))

  test('none after the answer is forced', () => {
    const rules = new LoopRules(5)
    expect(rules.beginTurn()).toBe(true)
    rules.forceAnswer()
    expect(rules.beginTurn()).toBe(false)
  })
})

describe('the same call', () => {
  test('the same call is not executed again once it has succeeded; the second repetition forces the answer', () => {
    const rules = new LoopRules(10)
    expect(rules.admits('a')).toBe(true)
    rules.note('a', false)
    expect(rules.admits('a')).toBe(false)
    expect(rules.beginTurn()).toBe(true)
    expect(rules.admits('a')).toBe(false)
    expect(rules.beginTurn()).toBe(false)
  })

  test('the same call may be tried again when it has failed, but not for ever', () => {
    const rules = new LoopRules(Number.POSITIVE_INFINITY)
    let tries = 0
    while (rules.beginTurn()) {
      if (!rules.admits('a')) continue
      rules.note('a', true)
      tries += 1
    }
    expect(tries).toBe(3)
  })

  test('each of several calls has its own past', () => {
    const rules = new LoopRules(10)
    rules.note('a', false)
    expect(rules.admits('b')).toBe(true)
    expect(rules.beginTurn()).toBe(true)
  })

  test('repetitions of different calls count together', () => {
    const rules = new LoopRules(10)
    rules.note('a', false)
    rules.note('b', false)
    expect([rules.admits('a'), rules.admits('b')]).toEqual([false, false])
    expect(rules.beginTurn()).toBe(false)
  })
})

test('calls are limited by the names of their tools, and together', () => {
  const rules = new LoopRules(9, { '*': 3, search: 2 })
  expect(['search', 'search', 'search', 'python', 'python'].map((name) => rules.countCall(name))).toEqual([
    true,
    true,
    false,
    true,
    false,
  ])
  // It asked twice for more.
  expect(rules.beginTurn()).toBe(false)
  expect(new LoopRules(9).countCall('search')).toBe(true)
})
