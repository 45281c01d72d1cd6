import { describe, expect, test } from 'vitest'
import { PrefillPacer, promptChunks, warmUp } from './prefill.ts'

/** Reads a prompt on a machine that computes `tokensPerMs`. */
async function chunkSizes(length: number, tokensPerMs: number, readers = 1): Promise<number[]> {
  let nowMs = 0
  const pacer = new PrefillPacer({ largestChunk: 512, now: () => nowMs })
  for (let other = 1; other < readers; other++) pacer.enter()
  const sizes: number[] = []
  for await (const chunk of promptChunks(
    Array.from({ length }, (_, index) => index),
    pacer,
  )) {
    sizes.push(chunk.length)
    nowMs += (chunk.length * readers) / tokensPerMs
  }
  return sizes
}

describe('reading a prompt in steps', () => {
  test('no token is lost or read twice', async () => {
    const tokens = Array.from({ length: 1000 }, (_, index) => index)
    const read: number[] = []
    for await (const chunk of promptChunks(tokens, new PrefillPacer({ largestChunk: 512 }))) read.push(...chunk)
    expect(read).toEqual(tokens)
  })

  test('a fast machine takes larger steps, up to the batch', async () => {
    expect(Math.max(...(await chunkSizes(5000, 100)))).toBe(512)
  })

  test('a slow machine takes small steps, so that a cancelled request ends soon', async () => {
    const sizes = await chunkSizes(2000, 1)
    expect(sizes.at(-2)).toBeLessThanOrEqual(80)
  })

  test('readers share the time of a step', async () => {
    const alone = await chunkSizes(5000, 2)
    const four = await chunkSizes(5000, 2, 4)
    expect(four.at(-2)).toBeLessThan((alone.at(-2) ?? 0) / 2)
  })

  test('a warm-up measures the speed of the model, not of its disk', async () => {
    let nowMs = 0
    const pacer = new PrefillPacer({ largestChunk: 512, now: () => nowMs })
    const tookMs = [5000, 16]
    const compute = async () => {
      nowMs += tookMs.shift() ?? 0
    }
    await warmUp(compute, pacer)
    expect(pacer.chunkSize).toBe(60)
  })

  test('an empty prompt has no steps', async () => {
    expect(await chunkSizes(0, 1)).toEqual([])
  })
})
