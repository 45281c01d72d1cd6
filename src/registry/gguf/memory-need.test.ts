import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { encodeGguf, type GgufValue } from '../../../test/support/llama/gguf-writer.ts'
import { builtinModel } from '../names/builtin-model.ts'
import { estimateMemory } from './estimate-memory.ts'
import { readGgufFacts } from './gguf-facts.ts'
import { memoryNeed } from './memory-need.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-memory-'))
})
afterAll(() => rm(folder, { recursive: true }))

const uint32 = (value: number) => ({ type: 'uint32', value }) as const

function headerOf(architecture: string, values: Readonly<Record<string, GgufValue>>): Buffer {
  const own = Object.entries(values).map(([key, value]) => [`${architecture}.${key}`, value] as const)
  return encodeGguf(new Map([['general.architecture', { type: 'string', value: architecture }], ...own]), [])
}

/** The bytes of the context of one slot of 1,000 tokens, which are 1,024 cells, with two bytes for each value. */
function contextBytes(architecture: string, values: Readonly<Record<string, GgufValue>>, settings = {}): number {
  const found = readGgufFacts(headerOf(architecture, values))
  if (found.type !== 'known') throw new Error('the header was not read')
  return estimateMemory(found.value, { contextLength: 1000, slots: 1, flashAttention: true, ...settings }).contextBytes
}

const plain = {
  block_count: uint32(4),
  embedding_length: uint32(64),
  'attention.head_count': uint32(8),
}
const cells = 1024

describe('the memory of a context', () => {
  test.each<[string, number, string, Readonly<Record<string, GgufValue>>, object?]>([
    ['has keys and values of all heads', 4 * cells * (64 + 64) * 2, 'llama', plain],
    [
      'has those of fewer heads where they are shared',
      4 * cells * (16 + 16) * 2,
      'llama',
      { ...plain, 'attention.head_count_kv': uint32(2) },
    ],
    [
      'has heads of the lengths that the file says',
      4 * cells * 2 * (32 + 16) * 2,
      'llama',
      {
        ...plain,
        'attention.head_count_kv': uint32(2),
        'attention.key_length': uint32(32),
        'attention.value_length': uint32(16),
      },
    ],
    [
      'has keys of another length in layers with a window, and none in layers that use those of others',
      2 * 3 * 256 * (32 + 32) * 2 + cells * (64 + 64) * 2,
      'gemma4',
      {
        ...plain,
        block_count: uint32(6),
        'attention.head_count_kv': uint32(1),
        'attention.key_length': uint32(64),
        'attention.value_length': uint32(64),
        'attention.key_length_swa': uint32(32),
        'attention.value_length_swa': uint32(32),
        'attention.sliding_window': uint32(128),
        'attention.sliding_window_pattern': { type: 'bools', value: [1, 1, 0, 1, 1, 0] },
        'attention.shared_kv_layers': uint32(3),
      },
    ],
    [
      'is that of its model for an assistant of Gemma 4',
      0,
      'gemma4-assistant',
      { ...plain, nextn_predict_layers: uint32(4) },
      { heads: 'only' },
    ],
    [
      'leaves out layers that predict further tokens',
      3 * cells * 128 * 2,
      'llama',
      { ...plain, nextn_predict_layers: uint32(1) },
    ],
    ['has them where they draft', 4 * cells * 128 * 2, 'llama', { ...plain, nextn_predict_layers: uint32(1) }, { heads: 'too' }],
    ['grows with the slots', 3 * 4 * cells * 128 * 2, 'llama', plain, { slots: 3 }],
    ['shrinks with quantized caches', (4 * cells * 128 * 34) / 32, 'llama', plain, { cacheTypeK: 'q8_0', cacheTypeV: 'q8_0' }],
    [
      'has heads for each layer, where they differ, and the state of layers without',
      cells * (16 + 8) * 2 * 2 + 2 * (3 * (100 + 2 * 1 * 10) + 10 * 100) * 4,
      'hybrid',
      {
        ...plain,
        'attention.head_count_kv': { type: 'int32s', value: [2, 0, 1, 0] },
        'ssm.conv_kernel': uint32(4),
        'ssm.inner_size': uint32(100),
        'ssm.state_size': uint32(10),
        'ssm.group_count': uint32(1),
      },
    ],
    [
      'has the last tokens only in layers with a sliding window',
      (1 * cells + 3 * 256) * 128 * 2,
      'cohere2',
      { ...plain, 'attention.sliding_window': uint32(128) },
      { batchSize: 100 },
    ],
    [
      'has all tokens where it is not known which layers have the window',
      4 * cells * 128 * 2,
      'llama',
      { ...plain, 'attention.sliding_window': uint32(128) },
      { batchSize: 100 },
    ],
  ])('the memory of a context %s', (_, expected, architecture, values, settings) => {
    expect(contextBytes(architecture, values, settings)).toBe(expected)
  })
})

test('slots keep points to return to of what forgets, up to a gigabyte for all', () => {
  const points = (values: Readonly<Record<string, GgufValue>>, slots = 1) => {
    const found = readGgufFacts(headerOf('cohere2', { ...plain, ...values }))
    if (found.type !== 'known') throw new Error('the header was not read')
    return estimateMemory(found.value, { contextLength: 1000, slots, batchSize: 100, flashAttention: true }).pointBytes
  }
  const windows = { 'attention.sliding_window': uint32(128) }
  expect(points({})).toBe(0)
  expect(points(windows, 2)).toBe(2 * 32 * 3 * 256 * 128 * 2)
  expect(points(windows, 1000)).toBe(2 ** 30)
})

describe('what a model needs', () => {
  const plan = { modelPath: builtinModel.path, slots: 4, flashAttention: true, processBytes: 160e6, contextLength: 8192 }

  test('is its file, its context, and what computing takes', async () => {
    // llama.cpp allocates 96 MiB for keys and values, and maps 4.3 MiB of weights.
    const { bytes } = await memoryNeed(plan)
    expect(bytes / 2 ** 20).toBeGreaterThan(96 + 4.3 + 160e6 / 2 ** 20)
    expect(bytes / 2 ** 20).toBeLessThan(96 + 4.3 + 160e6 / 2 ** 20 + 30)
  })

  test('is refused with its numbers, and what to do', async () => {
    const { tooLarge } = await memoryNeed(plan)
    expect(tooLarge(200e6)).toMatchObject({
      code: 'model-unavailable',
      message: expect.stringMatching(
        /^it needs about 2\d\d\.\d MB of memory \(weights 4\.\d MB; context 100\.7 MB for slots: 4, of 8192 tokens each; computing 1\d\d\.\d MB\), and memory\.budget is 200\.0 MB: set contextLength \d+ with slots: 4 or contextLength \d+ with slots: 1, choose a smaller quantization, or raise memory\.budget$/,
      ),
    })
  })

  test('says the longest context that fits, up to what the model was trained for', async () => {
    const { longestContext } = await memoryNeed(plan)
    const trained = longestContext(1e12) ?? 0
    expect(trained).toBe(4096)
    const budgetBytes = (await memoryNeed({ ...plan, contextLength: 1024 })).bytes
    expect(longestContext(budgetBytes)).toBe(1024)
    expect(longestContext(budgetBytes - 1)).toBe(768)
    expect(longestContext(1)).toBe(0)
    expect(longestContext(budgetBytes, 2)).toBeGreaterThan(1500)
  })

  test('includes a draft model and other files', async () => {
    const projector = join(folder, 'projector.gguf')
    await writeFile(projector, Buffer.alloc(1000))
    const alone = await memoryNeed(plan)
    const drafted = await memoryNeed({ ...plan, draft: { modelPath: builtinModel.path }, otherPaths: [projector] })
    expect(drafted.bytes - 160e6 - 1000).toBe(2 * (alone.bytes - 160e6))
  })

  test('includes the states that recurrent layers keep for the drafts of trained layers, wherever those are', async () => {
    const write = async (name: string, architecture: string, values: Readonly<Record<string, GgufValue>>) => {
      await writeFile(join(folder, name), headerOf(architecture, values))
      return join(folder, name)
    }
    const sizes = { 'ssm.inner_size': uint32(64), 'ssm.state_size': uint32(16), 'ssm.conv_kernel': uint32(4) }
    const hybrid = { ...plain, ...sizes, 'attention.head_count_kv': { type: 'int32s', value: [2, 0, 0, 2] } } as const
    const modelPath = await write('hybrid.gguf', 'hybrid', { ...hybrid, nextn_predict_layers: uint32(1) })
    const [eagle, beside] = [await write('eagle.gguf', 'eagle3', { block_count: uint32(1) }), join(folder, 'beside.gguf')]
    await writeFile(beside, await readFile(modelPath))
    const recurrent = { modelPath, slots: 2, flashAttention: true, processBytes: 0, contextLength: 1000 }
    const bytesOf = async (more: object) => (await memoryNeed({ ...recurrent, ...more })).bytes
    const state = 2 * 2 * (3 * 64 + 16 * 64) * 4
    const keys = 2 * cells * 2 * 16 * 2 * 2
    const computing = 4 * (cells + 8 * 64) * 512
    const plainBytes = await bytesOf({})
    expect(await bytesOf({ headTokens: 4 })).toBe(plainBytes + 4 * state + keys / 2 + computing)
    const ofFile = async (path: string, draft: object) =>
      (await bytesOf({ draft: { modelPath: path, ...draft } })) - (await stat(path)).size - plainBytes
    expect(await ofFile(beside, { type: 'mtp', maxTokens: 4 })).toBe(4 * state + keys / 2 + computing)
    const others = await ofFile(eagle, { maxTokens: 4 })
    expect((await ofFile(eagle, { maxTokens: 5 })) - others).toBe(state)
    expect((await ofFile(eagle, {})) - others).toBe(-state)
  })

  test('includes all parts of a split file', async () => {
    const part = (number: number) => join(folder, `model-0000${number}-of-00002.gguf`)
    await writeFile(part(1), headerOf('llama', {}))
    await writeFile(part(2), Buffer.alloc(5000))
    const both = (await memoryNeed({ ...plan, modelPath: part(1) })).bytes
    await rm(part(2))
    expect(both - (await memoryNeed({ ...plan, modelPath: part(1) })).bytes).toBe(5000)
  })
})
