import { expect, test } from 'vitest'
import { CallIds } from './call-ids.ts'

function openCalls(...names: string[]): CallIds {
  const ids = new CallIds()
  for (const [index, name] of names.entries()) ids.ofCall({ id: `id_${index}`, name }, 'unused')
  return ids
}

test('a call keeps its id, and gets one where it has none', () => {
  const ids = new CallIds()
  expect(ids.ofCall({ id: 'a', name: 'f' }, 'made')).toBe('a')
  expect(['', null, undefined].map((id) => ids.ofCall({ id, name: 'f' }, 'made'))).toEqual(['made', 'made', 'made'])
})

test('a result without an id answers the first open call of its name', () => {
  const ids = openCalls('f', 'g', 'g')
  expect(ids.ofResult({ name: 'g' }, 'made')).toBe('id_1')
  expect(ids.ofResult({ id: '', name: 'g' }, 'made')).toBe('id_2')
  expect(ids.ofResult({ id: null, name: 'f' }, 'made')).toBe('id_0')
})

test('one without a name, or with an unknown one, answers the first open call', () => {
  const ids = openCalls('f', 'g')
  expect(ids.ofResult({}, 'made')).toBe('id_0')
  expect(ids.ofResult({ name: 'h' }, 'made')).toBe('id_1')
  expect(ids.ofResult({}, 'made')).toBe('made')
})

test('a call that was answered by its id is not open any more', () => {
  const ids = openCalls('f', 'g')
  expect(ids.ofResult({ id: 'id_0' }, 'made')).toBe('id_0')
  expect(ids.ofResult({ name: 'f' }, 'made')).toBe('id_1')
})

test('an unknown id stays, and answers nothing', () => {
  const ids = openCalls('f')
  expect(ids.ofResult({ id: 'other', name: 'f' }, 'made')).toBe('other')
  expect(ids.ofResult({}, 'made')).toBe('id_0')
})

test('calls before a turn of the user are not open', () => {
  const ids = openCalls('f')
  ids.endTurn()
  expect(ids.ofResult({ name: 'f' }, 'made')).toBe('made')
})
