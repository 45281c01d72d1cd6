import { describe, expect, test } from 'vitest'
import type { StoredItem } from '../contract/store.ts'
import { SessionMemory } from './session-memory.ts'

/** An item of about so many bytes. */
function item(sizeBytes: number): StoredItem {
  return { id: 'msg_1', json: { text: 'x'.repeat(sizeBytes - 11) } }
}

describe('the memory of a connection', () => {
  test('the memory has the last response of each lane', () => {
    const memory = new SessionMemory(1000)
    const [one, two, other] = [[item(20)], [item(20)], [item(20)]]
    memory.remember('a', 'one', one)
    memory.remember('a', 'two', two)
    memory.remember('b', 'other', other)
    expect([memory.recall('one'), memory.recall('two'), memory.recall('other')]).toEqual([undefined, two, other])
  })

  test('the memory loses the lanes that were not used for longest when all are too large', () => {
    const memory = new SessionMemory(1000)
    memory.remember('a', 'one', [item(400)])
    memory.remember('b', 'two', [item(400)])
    memory.remember('a', 'three', [item(400)])
    memory.remember('c', 'four', [item(400)])
    expect(['two', 'three', 'four'].map((id) => memory.recall(id) !== undefined)).toEqual([false, true, true])
  })

  test('the memory has no history that is larger than the limit', () => {
    const memory = new SessionMemory(1000)
    memory.remember('a', 'one', [item(400)])
    memory.remember('a', 'two', [item(600), item(600)])
    expect([memory.recall('one'), memory.recall('two')]).toEqual([undefined, undefined])
  })

  test('forgets a response', () => {
    const memory = new SessionMemory(1000)
    memory.remember('a', 'one', [item(400)])
    memory.forget('one')
    expect(memory.recall('one')).toBeUndefined()
  })
})
