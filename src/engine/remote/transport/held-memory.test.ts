import { expect, test } from 'vitest'
import { HeldMemory } from './held-memory.ts'

const half = 512 * 1024 * 1024

test('large replies share one bound, and what is released can be held again', () => {
  const [first, second] = [new HeldMemory(), new HeldMemory()]
  first.hold(half)
  second.hold(half)
  // What is held in all, not added.
  second.hold(half)
  expect(() => first.hold(half + 1)).toThrow(expect.objectContaining({ failure: { type: 'excess' } }))
  second.release()
  second.release()
  first.hold(2 * half)
  first.release()
})
