import { expect, test } from 'vitest'
import { findLine } from './find-line.ts'
import type { Turn } from './turn.ts'

const turn = (...messages: number[]): Turn => ({ model: 'm', tools: 1, settings: 1, question: messages[1] ?? 0, messages })
const [system, question, answer, result] = [10, 20, -30, 40]
const first = turn(system, question)
const second = turn(system, question, answer, result)

test('a first turn is a line of its own', () => {
  expect(findLine([], first)).toEqual({ lines: [first] })
})

test('a turn that continues takes the place of the one before', () => {
  expect(findLine([first], second)).toEqual({ lines: [second], before: first })
})

test('a repetition changes nothing', () => {
  expect(findLine([second], second)).toEqual({ lines: [second], before: second })
  expect(findLine([second], first)).toEqual({ lines: [second], before: second })
})

test('the tools of a repetition are the latest', () => {
  expect(findLine([second], { ...first, tools: 2 })).toEqual({ lines: [{ ...second, tools: 2 }], before: second })
})

test.each([
  ['the system message', turn(11, question, answer, result, -50, 60)],
  ['an old answer', turn(system, question, -31, result, -50, 60)],
  ['the last result', turn(system, question, answer, 41, -50, 60)],
  ['the first question', turn(system, 21, answer, result, -50, 60)],
])('a longer turn with another %s continues the line', (_, third) => {
  expect(findLine([second], third)).toEqual({ lines: [third], before: second })
})

test.each([
  ['a subordinate agent', turn(12, 22, -32)],
  ['an edited question', turn(system, question, answer, 41)],
  ['a summary', turn(system, question, 99)],
  ['a title request with the same question', turn(12, question)],
])('%s is another line', (_, other) => {
  expect(findLine([second], other)).toEqual({ lines: [other, second] })
})

test('a turn that ends alike continues the line, if what differs is similar', () => {
  const again = turn(11, question)
  expect(findLine([first], again, () => true)).toEqual({ lines: [again], before: first })
  expect(findLine([first], { ...again, tools: 2 }, () => true)).toEqual({ lines: [{ ...again, tools: 2 }, first] })
})

test('a turn that goes on without an answer is a branch', () => {
  const branch = turn(system, question, answer, result, 70)
  const next = turn(system, question, answer, result, -50, 60)
  const { lines } = findLine([second], branch)
  expect(lines).toEqual([branch, second])
  expect(findLine(lines, next)).toEqual({ lines: [next, branch], before: second })
})

test('the line that has most in common is continued', () => {
  const branch = turn(system, question, -31, 41)
  const next = turn(system, question, -31, 41, -50)
  expect(findLine([second, branch], next)).toEqual({ lines: [next, second], before: branch })
})
