import { expect, test } from 'vitest'
import { compareTurn, type TurnHashes } from './compare-turn.ts'

const turn = (...messages: number[]): TurnHashes => ({ tools: 1, question: messages[1] ?? 0, messages })
const [system, question, answer, result] = [10, 20, 30, 40]
const first = turn(system, question)
const second = turn(system, question, answer, result)

test('a first turn is a line of its own', () => {
  expect(compareTurn([], first)).toEqual({ lines: [first] })
})

test('a turn that continues takes the place of the one before', () => {
  expect(compareTurn([first], second)).toEqual({ lines: [second] })
})

test('a repetition changes nothing', () => {
  expect(compareTurn([second], second)).toEqual({ lines: [second] })
  expect(compareTurn([second], first)).toEqual({ lines: [second] })
})

test.each([
  ['the system message', turn(11, question, answer, result, 50, 60), 0],
  ['an old answer', turn(system, question, 31, result, 50, 60), 2],
  ['the last result', turn(system, question, answer, 41, 50, 60), 3],
])('a longer turn with another %s has diverged there', (_, third, diverged) => {
  expect(compareTurn([second], third)).toEqual({ lines: [third], diverged })
})

test('other tools come before all messages', () => {
  const third = { ...turn(system, question, 31, result, 50, 60), tools: 2 }
  expect(compareTurn([second], third)).toEqual({ lines: [third], diverged: 'tools' })
  expect(compareTurn([second], { ...second, tools: 2 })).toEqual({ lines: [{ ...second, tools: 2 }], diverged: 'tools' })
})

test('a first question that changes has diverged, where the session began alike', () => {
  const third = turn(system, 21, answer, result, 50, 60)
  expect(compareTurn([second], third)).toEqual({ lines: [third], diverged: 1 })
})

test.each([
  ['a subordinate agent', turn(12, 22, 32)],
  ['an edited question', turn(system, question, answer, 41)],
  ['a summary', turn(system, question, 99)],
])('%s is another line', (_, other) => {
  expect(compareTurn([second], other)).toEqual({ lines: [other, second] })
})

test('the line that has most in common is continued', () => {
  const branch = turn(system, question, 31, 41)
  const next = turn(system, question, 31, 41, 50)
  expect(compareTurn([second, branch], next)).toEqual({ lines: [next, second] })
})
