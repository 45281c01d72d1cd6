import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getLlama, type Llama, LlamaLogLevel } from 'node-llama-cpp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Model } from '../../../src/engine/llama/binding/model.ts'
import type { Sequence } from '../../../src/engine/llama/binding/sequence.ts'
import type { Token } from '../../../src/engine/llama/binding/tokenizer.ts'
import { llamaOptions, openContext } from '../../../src/engine/llama/worker/context/context.ts'
import { addPrefix, listPrefixes, readPrefix } from '../../../src/engine/llama/worker/slots/prefix-files.ts'
import { cutState } from '../../../src/engine/llama/worker/slots/state-pieces.ts'
import { encodeSmallModel, type SmallArchitecture, windowedArchitectures } from '../../support/llama/random-architectures.ts'
import { createRandom } from '../../support/random.ts'

/** Small, so that a text of some hundred tokens is many windows long. llama.cpp keeps 256 cells for a window of up to 223. */
const window = 64
const batchSize = 32
const contextSize = 1024
/** Sums in 16 bits depend on the order of the cells. */
const exact = { flashAttention: false, cacheTypeK: 'f32', cacheTypeV: 'f32' } as const
const rounds = Number(process.env.SOAK_LENGTH ?? 0.25) < 1 ? 32 : 200
const architectures: readonly SmallArchitecture[] = [...windowedArchitectures, 'mamba', 'lfm2', 'llama']
const hasWindow = (architecture: SmallArchitecture) => (windowedArchitectures as readonly string[]).includes(architecture)

describe.each(architectures)(
  'after any history, a sequence of %s, and a copy of its beginning, also from a file or from memory,',
  (architecture) => {
    let folder: string
    let llama: Llama
    let model: Model
    let used: Sequence
    let fresh: Sequence
    let copy: Sequence
    let cuts = 0
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'dragoman-windows-'))
      const modelPath = join(folder, 'model.gguf')
      await writeFile(modelPath, encodeSmallModel(architecture, hasWindow(architecture) ? { width: 64, window } : { width: 32 }))
      llama = await getLlama({ ...llamaOptions, gpu: false, logLevel: LlamaLogLevel.error })
      model = await Model.load(llama, { modelPath })
      const { sequences } = await openContext(model, { slots: 3, contextSize, threads: 1, batchSize, ...exact })
      ;[used, fresh, copy] = sequences as [Sequence, Sequence, Sequence]
    })
    afterAll(async () => {
      await model?.dispose()
      await rm(folder, { recursive: true })
    })

    /** What a sequence computes for the next token of a text, of which it may have a part. The used one stops near the end for a checkpoint. */
    async function logitsAfter(sequence: Sequence, text: readonly Token[]): Promise<Float32Array> {
      const most = text.slice(sequence.nextTokenIndex, -12)
      if (sequence === used && most.length > 0) {
        await sequence.compute(most)
        await sequence.takeCheckpoint()
      }
      const rest = text.slice(sequence.nextTokenIndex)
      return sequence.computeLast(rest, (index) => sequence.context.logits(index).slice())
    }

    async function copyByFile(tokens: number): Promise<void> {
      const [own, cut] = [join(folder, 'prefixes'), cutState(await used.readState())]
      const added = await addPrefix(own, { owner: 'anna', usedAtMs: Date.now(), cut, known: new Map() })
      expect(await listPrefixes(own)).toEqual([{ ...added, usedAtMs: expect.any(Number) }])
      await copy.writeState(await readPrefix(own, added))
      await rm(own, { recursive: true })
      await copy.truncate(tokens)
    }

    async function copyByMemory(tokens: number): Promise<void> {
      const state = await used.readState()
      await copy.writeState(state)
      // Where the cells are in order, which they need not be after an edit.
      if (cutState(state).rows.length > 0) cuts += 1
      await copy.truncate(tokens)
    }

    test('compute what a fresh one does', async () => {
      const random = createRandom(7)
      const below = (limit: number) => Math.floor(random() * limit)
      const someTokens = (count: number) => Array.from({ length: count }, () => (50 + below(200)) as Token)
      let reused = 0
      for (let round = 0; round < rounds; round++) {
        const had = used.contextTokens.slice()
        // Now near the end, now near the window's edges, now anywhere.
        const cut = [1 + below(8), window - 2 + below(4), 256 - 34 + below(40), below(had.length + 1)][round % 4] as number
        const kept = Math.max(0, had.length - cut)
        const text = [...had.slice(0, kept), ...someTokens(1 + below(kept > 600 ? 20 : 300))]
        const promised = used.reusable(kept)
        // llama.cpp copies with the next pass, by when something else may be wanted.
        if (round % 2 === 1) await copy.copyFrom(fresh, fresh.nextTokenIndex)
        if (round % 3 === 1) await copyByFile(kept)
        else if (round % 3 === 2) await copyByMemory(kept)
        else await copy.copyFrom(used, kept)
        expect(copy.nextTokenIndex).toBeGreaterThanOrEqual(promised)
        const ofCopy = await logitsAfter(copy, text)
        await used.truncate(kept)
        expect(used.nextTokenIndex).toBeGreaterThanOrEqual(promised)
        reused += used.nextTokenIndex
        const computed = [await logitsAfter(used, text), ofCopy]
        await fresh.clearHistory()
        const expected = await logitsAfter(fresh, text)
        for (const logits of computed) {
          const furthest = logits.reduce((most, logit, token) => Math.max(most, Math.abs(logit - (expected[token] as number))), 0)
          expect(furthest, `after ${had.length} tokens, ${cut} of them erased`).toBeLessThan(2e-3)
        }
      }
      expect(reused).toBeGreaterThan(0)
      expect(cuts > 0, 'states with rows of tokens').toBe(architecture !== 'mamba')
    })
  },
)
