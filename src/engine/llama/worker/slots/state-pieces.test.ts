import { describe, expect, test } from 'vitest'
import { createRandom } from '../../../../../test/support/random.ts'
import { cutState, joinState, pieceTokens } from './state-pieces.ts'

type Layer = { readonly key: number; readonly value: number }
type Cache = {
  /** Of the context; the sequence is the number of one. */
  readonly slots?: number
  readonly cells: number
  readonly layers: readonly Layer[]
  readonly cell?: number
  readonly isTransposed?: boolean
}

const f16 = 1
const tokensOf = (length: number, { shared = length, of = 1 } = {}) =>
  Int32Array.from({ length }, (_, index) => (index < shared ? index : 1000 * of + index))

/** A cache as llama.cpp writes it, whose rows depend on their tokens. */
function encodeCache(
  { cells, layers, cell = 12, isTransposed = false, slots = 1 }: Cache,
  tokens: Int32Array,
  sequence: number,
): Buffer {
  const numbers = (...values: number[]) => Buffer.from(Uint32Array.from(values).buffer)
  const rows = (bytes: number, salt: number) =>
    Buffer.concat(Array.from({ length: cells }, (_, at) => Buffer.alloc(bytes, ((tokens[at] ?? 0) * 31 + salt) % 251)))
  const meta = Array.from({ length: cells }, (_, at) => [at, 1, ...new Array<number>(cell / 4 - 3).fill(7), sequence])
  const keys = layers.flatMap(({ key }, layer) => [numbers(f16, key, 0), rows(key, layer)])
  const values = layers.flatMap(({ value }, layer) => {
    if (value === 0) return []
    if (!isTransposed) return [numbers(f16, value, 0), rows(value, 100 + layer)]
    return [numbers(f16, 2, value / 2), ...Array.from({ length: value / 2 }, (_, at) => rows(2, 100 + layer + at))]
  })
  const others = (count: number) => numbers(...new Array<number>(count).fill(0))
  const before = slots === 1 ? 0 : sequence
  const head = [numbers(slots), others(before), numbers(cells, ...meta.flat()), numbers(isTransposed ? 1 : 0, layers.length)]
  return Buffer.concat([...head, ...keys, ...values, others(slots - 1 - before)])
}

function encodeState(tokens: Int32Array, caches: readonly Cache[], { sequence = 0, after = Buffer.alloc(0) } = {}) {
  const header = Buffer.from(Uint32Array.from([0xaf143c, sequence]).buffer)
  const state = Buffer.concat([header, ...caches.map((cache) => encodeCache(cache, tokens, sequence)), after])
  return { tokens, state: new Uint8Array(state), checkpoints: undefined }
}

const layers = [
  { key: 8, value: 4 },
  { key: 8, value: 4 },
]
const cells = 3 * pieceTokens + 10
const attention = { cells, layers }

describe('a state is cut where others may have the same', () => {
  test.each<{ name: string; caches: readonly Cache[]; after?: Buffer<ArrayBuffer>; pieces: number }>([
    { name: 'attention', caches: [attention], pieces: 3 },
    { name: 'attention whose values are transposed', caches: [{ ...attention, isTransposed: true }], pieces: 3 },
    { name: 'latent attention with an indexer', caches: [{ cells, layers: [{ key: 90, value: 0 }] }, attention], pieces: 3 },
    { name: 'attention with a grid of positions', caches: [{ ...attention, cell: 24 }], pieces: 3 },
    { name: 'attention and a window', caches: [attention, { ...attention, cells: 100 }], pieces: 3 },
    { name: 'attention of the first of four slots', caches: [{ ...attention, slots: 4 }, attention], pieces: 3 },
    { name: 'attention and recurrent layers', caches: [attention], after: Buffer.alloc(500, 3), pieces: 3 },
    { name: 'less than a piece', caches: [{ ...attention, cells: pieceTokens - 1 }], pieces: 0 },
    { name: 'something unknown', caches: [], after: Buffer.alloc(500, 3), pieces: 0 },
  ])('$name: $pieces pieces, and joined again', ({ caches, after, pieces: count }) => {
    const given = encodeState(tokensOf(caches[0]?.cells ?? 700), caches, { after })
    const { pieces, ...remainder } = cutState(given)
    const { state, put } = joinState(remainder)
    const kept = [...pieces]
    for (const [index, { bytes }] of kept.entries()) put(index, bytes)
    expect(kept).toHaveLength(count)
    expect(Buffer.compare(state, given.state)).toBe(0)
  })

  test('two conversations in different slots have the pieces of what they share', () => {
    const piecesOf = (shared: number, sequence: number) => {
      const caches = [
        { ...attention, slots: 4 },
        { ...attention, cells: 100, slots: 4 },
      ]
      const state = encodeState(tokensOf(cells, { shared }), caches, { sequence })
      return Array.from(cutState(state).pieces, ({ key, bytes }) => [key, Buffer.from(bytes).toString('base64')])
    }
    const [first, second] = [piecesOf(cells, 0), piecesOf(2 * pieceTokens + 9, 3)]
    expect(first).toHaveLength(3)
    expect(second.slice(0, 2)).toEqual(first.slice(0, 2))
    expect(second[2]?.[0]).not.toBe(first[2]?.[0])
  })

  test('any other bytes are joined again', () => {
    const random = createRandom(3)
    for (let round = 0; round < 50; round++) {
      const { state, tokens } = encodeState(tokensOf(cells), [attention, { ...attention, cells: 20 }])
      for (let hit = 0; hit < 3; hit++) state[Math.floor(random() * (round % 2 === 0 ? 40 : state.length))] = random() * 256
      const { pieces, ...remainder } = cutState({ state, tokens, checkpoints: undefined })
      const joined = joinState(remainder)
      for (const [index, { bytes }] of [...pieces].entries()) joined.put(index, bytes)
      expect(Buffer.compare(joined.state, state)).toBe(0)
    }
  })
})
