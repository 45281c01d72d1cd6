/** About normal with mean 0 and variance 1: the sum of 12 numbers of mulberry32, without a function that a platform may round. */
export function createNormal(seed: number): () => number {
  let state = seed | 0
  const uniform = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), 1 | state)
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
  }
  return () => {
    let sum = -6
    for (let count = 0; count < 12; count++) sum += uniform()
    return sum
  }
}
