import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Token } from '../../../src/engine/llama/binding/tokenizer.ts'
import { loadModel } from '../../../src/engine/llama/worker/model/model.ts'
import { encodeHeadedModel, headedArchitectures } from '../../support/llama/headed-model.ts'

const silent = { onProgress: () => undefined, onLog: () => undefined, onWarning: () => undefined }
const draftTokens = 3
const text = Array.from({ length: 60 }, (_, index) => (3 + ((index * 79 + 13) % 90)) as Token)
const [prompt, rest] = [text.slice(0, 20), text.slice(20)]

/**
 * Passes of one token and of several are computed by different functions of llama.cpp, so that seeded texts may differ in rare places. The
 * same passes with other rejected tokens must give the same bits.
 */
test.each(headedArchitectures)(
  'what %s computes does not depend on the drafts that were rejected before',
  async (architecture) => {
    const folder = await mkdtemp(join(tmpdir(), 'dragoman-rejected-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const modelPath = join(folder, 'model.gguf')
    await writeFile(modelPath, encodeHeadedModel(architecture))
    const speculation = { type: 'mtp', maxTokens: draftTokens, minProbability: 0, always: true } as const
    const options = { modelPath, slots: 2, contextLength: 512, threads: 1, flashAttention: true, speculation }
    const { model, context, slots } = await loadModel(options, silent)
    onTestFinished(() => model.dispose())
    const logitsBehind = async (slot: number, step: number) => {
      const { sequence } = slots[slot] as (typeof slots)[number]
      const found: Float32Array[] = []
      await sequence.compute(prompt)
      for (const [index, token] of rest.entries()) {
        const rejected = Array.from({ length: draftTokens }, (_, at) => (3 + (((index + at) * step) % 90)) as Token)
        await sequence.computeAll(
          [token, ...rejected],
          (place, at) => void (at === 0 && found.push(context.logits(place).slice())),
        )
        await sequence.truncate(prompt.length + index + 1)
      }
      return found
    }
    expect(await logitsBehind(0, 31)).toEqual(await logitsBehind(1, 57))
  },
)
