import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { Context } from '../../../src/engine/llama/binding/context.ts'
import type { Token } from '../../../src/engine/llama/binding/tokenizer.ts'
import { loadModel, type WorkerModel } from '../../../src/engine/llama/worker/model/model.ts'
import { writeRandomBert } from '../../support/llama/random-bert.ts'
import { watchPasses } from '../../support/llama/watch-passes.ts'

const tiny = fileURLToPath(new URL('../../../models/dragoman-tiny.gguf', import.meta.url))
const silent = { onProgress: () => undefined, onWarning: () => undefined, onLog: () => undefined }

/** Of different lengths. */
const texts = Array.from({ length: 24 }, (_, index) => textOf(1 + ((index * 5) % 13), index))
function textOf(length: number, from: number): Token[] {
  return Array.from({ length }, (_, index) => 5 + ((from + index * 3) % 30)) as Token[]
}

/** Not equal: what rounds where depends on how many tokens a pass has. */
function expectAlike(one: Float32Array | 'cancelled' | undefined, other: Float32Array | 'cancelled' | undefined): void {
  if (typeof one !== 'object' || typeof other !== 'object') throw new Error('a vector is missing')
  const product = one.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0)
  const [length, otherLength] = [Math.hypot(...one), Math.hypot(...other)]
  expect(product / (length * otherLength)).toBeCloseTo(1, 3)
  expect(length / otherLength).toBeCloseTo(1, 1)
}

describe('short texts', () => {
  let folder: string
  let loaded: WorkerModel | undefined
  let passes: number[][] = []
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dragoman-embed-'))
    const makeContext = Context.create.bind(Context)
    vi.spyOn(Context, 'create').mockImplementation(async (...made) => {
      const context = await makeContext(...made)
      passes = watchPasses(context)
      return context
    })
  })
  afterEach(() => loaded?.model.dispose())
  afterAll(async () => {
    vi.restoreAllMocks()
    await rm(folder, { recursive: true })
  })

  const load = async (modelPath: string) => {
    loaded = await loadModel({ modelPath, slots: 1, contextLength: 1024, threads: 1, flashAttention: false }, silent)
    return loaded.embedder
  }

  test.each(['a decoder', 'mean', 'cls', 'rank'] as const)(
    'are computed several in a pass, each as if alone: %s',
    async (kind) => {
      const path = kind === 'a decoder' ? tiny : join(folder, `${kind}.gguf`)
      if (kind !== 'a decoder') await writeRandomBert(path, kind)
      const embedder = await load(path)
      const alone: Float32Array[] = []
      for (const text of texts) alone.push((await embedder.embed(text, () => false)) as Float32Array)
      const before = passes.length
      expect(before).toBeGreaterThanOrEqual(texts.length)
      const together = await Promise.all(texts.map((text) => embedder.embed(text, () => false)))
      expect(passes.length - before).toBeLessThan(texts.length / 2)
      for (const [index, vector] of together.entries()) expectAlike(vector, alone[index])
      expect(new Set(alone.map((vector) => vector.join())).size).toBeGreaterThan(20)
    },
  )

  test('that are cancelled do not hurt those beside them', async () => {
    const embedder = await load(tiny)
    const [first] = texts as [Token[]]
    const alone = await embedder.embed(first, () => false)
    let cancelled = false
    const results = texts.map((_, index) => embedder.embed(first, () => index % 2 === 1 && cancelled))
    cancelled = true
    embedder.interruptIfOver()
    for (const [index, result] of (await Promise.all(results)).entries()) {
      if (index % 2 === 1) expect(result).toBe('cancelled')
      else expectAlike(result, alone)
    }
  })

  test('and one that needs a larger context wait for each other', async () => {
    const embedder = await load(tiny)
    const [short, long] = [textOf(9, 0), textOf(600, 0)]
    const embedOne = (text: Token[]) => embedder.embed(text, () => false)
    const mixed = await Promise.all([short, long, short].map(embedOne))
    const alone = [await embedOne(short), await embedOne(long), await embedOne(short)]
    for (const [index, vector] of mixed.entries()) expectAlike(vector, alone[index])
  })
})
