import { describe, expect, test } from 'vitest'
import type { Engine } from '../contract/engine.ts'
import { embed, shorten } from './embed.ts'
import type { GenerateDeps } from './generate.ts'
import { Admission } from './schedule/admission.ts'

const never = new AbortController().signal

function createDeps(engine: Partial<Engine>) {
  const admission = new Admission({ slots: 1, maxQueued: 1 })
  const full: Engine = {
    state: { type: 'ready' },
    facts: { embeddingLength: 2 },
    ensureReady: async () => undefined,
    prepare: async () => {
      throw new Error('nothing is generated here')
    },
    close: async () => undefined,
    ...engine,
  }
  const deps: GenerateDeps = { resolveModel: () => ({ id: 'm', engine: full, admission }), now: () => 0 }
  return { deps, admission }
}

describe('shorten', () => {
  test.each<[number[], number | undefined, number[]]>([
    [[3, 4], undefined, [0.6, 0.8]],
    [[3, 4, 12], 2, [0.6, 0.8]],
    [[-5], 1, [-1]],
    [[0, 0], undefined, [0, 0]],
    [[0, 3], 1, [0]],
  ])('of %j, %j numbers, is %j', (vector, dimensions, expected) => {
    const short = shorten(Float32Array.from(vector), dimensions)
    expect(short).toHaveLength(expected.length)
    for (const [index, value] of expected.entries()) expect(short[index]).toBeCloseTo(value, 6)
  })
})

test('a vector that holds NaN is no answer', () => {
  expect(() => shorten(Float32Array.of(1, Number.NaN))).toThrow('no numbers')
})

describe('embed', () => {
  test('computes while it holds a slot, and gives it back', async () => {
    const { deps, admission } = createDeps({
      embed: async () => {
        expect(admission.busy).toBe(1)
        return { vectors: [Float32Array.of(3, 4)], inputTokens: 7 }
      },
    })
    const result = await embed(deps, { model: 'x', inputs: [{ type: 'text', text: 'a' }] }, never)
    expect(result).toMatchObject({ model: 'm', inputTokens: 7 })
    expect([admission.busy, admission.queued]).toEqual([0, 0])
  })

  test('refuses more dimensions than there are before it takes a slot', async () => {
    const { deps, admission } = createDeps({
      embed: async () => {
        throw new Error('asked all the same')
      },
    })
    await expect(embed(deps, { model: 'x', inputs: [], dimensions: 3 }, never)).rejects.toMatchObject({
      code: 'invalid-request',
      param: 'dimensions',
    })
    expect(admission.queued).toBe(0)
  })

  test('refuses more dimensions than a vector turns out to have', async () => {
    const { deps } = createDeps({ embed: async () => ({ vectors: [Float32Array.of(3, 4)], inputTokens: 1 }), facts: {} })
    await expect(embed(deps, { model: 'x', inputs: [], dimensions: 3 }, never)).rejects.toMatchObject({
      code: 'invalid-request',
      message: expect.stringContaining('at most 2'),
    })
  })

  test('gives the slot back when the engine fails', async () => {
    const { deps, admission } = createDeps({ embed: () => Promise.reject(new Error('broken')) })
    await expect(embed(deps, { model: 'x', inputs: [] }, never)).rejects.toThrow('broken')
    expect([admission.busy, admission.queued]).toEqual([0, 0])
  })

  test('an engine that cannot is named', async () => {
    const { deps } = createDeps({})
    await expect(embed(deps, { model: 'x', inputs: [] }, never)).rejects.toMatchObject({ param: 'model' })
  })
})
