import { createRandom } from './random.ts'

/** About normal with mean 0 and variance 1: the sum of 12 numbers of mulberry32, without a function that a platform may round. */
export function createNormal(seed: number): () => number {
  const uniform = createRandom(seed)
  return () => {
    let sum = -6
    for (let count = 0; count < 12; count++) sum += uniform()
    return sum
  }
}
