import { describe, expect, test } from 'vitest'
import { contextOf } from '../../../test/support/http/context.ts'
import { stubEngine } from '../../../test/support/upstream/stub-engine.ts'
import type { Embedder, EngineFacts } from '../../contract/engine.ts'
import { embed, shorten } from './embed.ts'

function open(compute?: Embedder['embed'], facts: EngineFacts = { embeddingLength: 2 }) {
  const capabilities = compute === undefined ? {} : { embedder: { embed: compute } }
  const context = contextOf(stubEngine({ facts, capabilities }))
  return { context, load: () => context.model.scheduler.load }
}

describe('shorten', () => {
  test.each<[number[], number | undefined, number[]]>([
    [[3, 4], undefined, [0.6, 0.8]],
    [[3, 4, 12], 2, [0.6, 0.8]],
    [[-5], 1, [-1]],
    [[0, 0], undefined, [0, 0]],
    [[0, 3], 1, [0]],
  ])('shortening %j to %j numbers gives %j', (vector, dimensions, expected) => {
    const short = shorten(Float32Array.from(vector), dimensions)
    expect(short).toHaveLength(expected.length)
    for (const [index, value] of expected.entries()) expect(short[index]).toBeCloseTo(value, 6)
  })
})

test('a vector with NaN is an error', () => {
  expect(() => shorten(Float32Array.of(1, Number.NaN))).toThrow('not numbers')
})

describe('embed', () => {
  test('embed computes on a slot and releases it', async () => {
    const { context, load } = open(async () => {
      expect(load().busy).toBe(1)
      return { vectors: [Float32Array.of(3, 4)], inputTokens: 7 }
    })
    const result = await embed({ model: 'x', inputs: [{ type: 'text', text: 'a' }] }, context)
    expect(result).toMatchObject({ model: 'm', inputTokens: 7 })
    expect(load()).toMatchObject({ busy: 0, queued: 0 })
  })

  test('embed refuses more dimensions than there are before it takes a slot', async () => {
    const { context, load } = open(async () => {
      throw new Error('asked all the same')
    })
    await expect(embed({ model: 'x', inputs: [], dimensions: 3 }, context)).rejects.toMatchObject({
      code: 'invalid-request',
      at: ['dimensions'],
    })
    expect(load().queued).toBe(0)
  })

  test('embed refuses more dimensions than the vectors have', async () => {
    const { context } = open(async () => ({ vectors: [Float32Array.of(3, 4)], inputTokens: 1 }), {})
    await expect(embed({ model: 'x', inputs: [], dimensions: 3 }, context)).rejects.toMatchObject({
      code: 'invalid-request',
      message: expect.stringContaining('at most 2'),
    })
  })

  test('embed releases the slot when the engine fails', async () => {
    const { context, load } = open(() => Promise.reject(new Error('broken')))
    await expect(embed({ model: 'x', inputs: [] }, context)).rejects.toThrow('broken')
    expect(load()).toMatchObject({ busy: 0, queued: 0 })
  })

  test('an engine without embeddings is refused by name', async () => {
    const { context } = open()
    await expect(embed({ model: 'x', inputs: [] }, context)).rejects.toMatchObject({ at: ['model'] })
  })
})
