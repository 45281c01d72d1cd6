import { expect, test } from 'vitest'
import { PooledVector } from './pooled-vector.ts'
import type { Pooling } from './pooling.ts'

test.each<[Pooling, number[]]>([
  ['mean', [2.5, 5]],
  ['cls', [1, 2]],
  ['last', [3, 6]],
])("the %s of a text's steps is that of the text", (pooling, expected) => {
  const pooled = new PooledVector(pooling)
  pooled.add(Float32Array.of(1, 2), 1)
  pooled.add(Float32Array.of(3, 6), 3)
  expect([...pooled.value]).toEqual(expected)
})
