import { describe, expect, test } from 'vitest'
import { builtinModel } from '../names/builtin-model.ts'
import { chooseContext, contextFor, describeContext, longestOf, onGpu } from './choose-context.ts'
import { memoryNeed } from './memory-need.ts'

/** A model whose weights take 1,000,000 bytes, and each token of a slot 100. */
const needOf = (trained: number) => ({
  longestContext: (bytes: number, slots = 4) => {
    return Math.max(0, Math.min(trained, Math.floor((bytes - 1_000_000) / (100 * slots) / 256) * 256))
  },
})
const roomOf = (budgetBytes: number) => ({ budgetBytes, shareBytes: budgetBytes / 2 })

function choose(trained: number, budgetBytes: number, slots = 4) {
  return contextFor(needOf(trained), { slots, room: roomOf(budgetBytes) })
}

describe('the context of a model whose configuration names none', () => {
  test.each([
    ['is what the model was trained for', 32_768, 1e9, 32_768],
    ['is what its share of the memory has room for', 1_000_000, 2e8, 247_296],
    ['is as long as a chat needs, with all of the memory', 32_768, 5e6, 8192],
    ['is shorter than a chat needs where all of the memory has no room for more', 32_768, 3e6, 4864],
    ['is short where the weights need all of the memory, so that the model is refused', 32_768, 1e6, 1024],
    ['is short where the model was trained for less', 512, 1e9, 512],
    ['is short where the model was trained for less, also without memory', 512, 1e6, 512],
  ])('the context %s', (_, trained, budgetBytes, expected) => {
    expect(choose(trained, budgetBytes)?.contextLength).toBe(expected)
  })

  test('the context is longer with fewer slots', () => {
    expect([4, 2, 1].map((slots) => choose(1e6, 2e7, slots)?.contextLength)).toEqual([22_272, 44_800, 89_856])
  })

  test('the context is not known where the file does not say what the model was trained for', () => {
    expect(contextFor({ longestContext: () => undefined }, { slots: 4, room: roomOf(1e9) })).toBeUndefined()
  })

  test('the context of the built-in model is its 4,096 tokens', async () => {
    const plan = { modelPath: builtinModel.path, slots: 4, flashAttention: true, processBytes: 180e6 }
    const { bytes } = await memoryNeed({ ...plan, contextLength: 4096 })
    for (const budgetBytes of [1e12, bytes]) {
      expect(await chooseContext(plan, roomOf(budgetBytes))).toMatchObject({ contextLength: 4096, trainedContextLength: 4096 })
    }
  })
})

test('contexts of fewer slots count where they are longer: half as many slots each time', () => {
  expect(longestOf(5, (slots) => 1000 / slots)).toEqual([
    { slots: 5, contextLength: 200 },
    { slots: 2, contextLength: 500 },
    { slots: 1, contextLength: 1000 },
  ])
  expect(longestOf(4, (slots) => Math.min(400, 1000 / slots))).toEqual([
    { slots: 4, contextLength: 250 },
    { slots: 2, contextLength: 400 },
  ])
  expect(longestOf(4, () => undefined)).toEqual([])
})

describe('the choice is explained', () => {
  const explain = (...args: Parameters<typeof choose>) => describeContext(choose(...args) ?? expect.fail())

  test('the choice is explained in full where nothing limits it', () => {
    expect(explain(32_768, 1e9)).toBe('32768 tokens, all that the model was trained for')
  })

  test('with what limits it, and what raises it', () => {
    expect(explain(100_000, 2e7)).toBe(
      '22272 of the 100000 tokens that the model was trained for: memory allows no more with slots: 4 (its share, 10.0 MB, ' +
        'of memory.budget, 20.0 MB); contextLength can be up to 47360 with slots: 4, or 94976 with slots: 2, or 100000 with slots: 1',
    )
  })

  test('the choice is explained where a GPU has less free memory than the share', () => {
    expect(onGpu(roomOf(2e7), 0)).toEqual(roomOf(2e7))
    expect(onGpu(roomOf(2e7), 2e7)).toEqual(roomOf(2e7))
    const room = onGpu(roomOf(2e7), 5e6)
    expect(describeContext(contextFor(needOf(100_000), { slots: 4, room }) ?? expect.fail())).toMatch(
      /^8704 of the 100000 tokens .* slots: 4 \(4\.5 MB of the GPU\); contextLength can be up to 47360 with slots: 4/,
    )
  })

  test('the choice is explained where only more memory helps', () => {
    expect(explain(100_000, 1.6e6, 1)).toMatch(/^5888 of .* slots: 1 .*; a larger memory\.budget raises it$/)
  })
})
