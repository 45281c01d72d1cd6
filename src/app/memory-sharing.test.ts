import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { type LlamaModelConfig, modelSchema } from '../config/schema.ts'
import { workerNeed } from './memory-sharing.ts'

const modelPath = fileURLToPath(new URL('../../models/dragoman-tiny.gguf', import.meta.url))
const configOf = (more: object) =>
  modelSchema.parse({ engine: 'llama', id: 'm', source: modelPath, contextLength: 4096, ...more }) as LlamaModelConfig

test('quantized caches need less memory', async () => {
  const [plain, quantized] = await Promise.all(
    [{}, { cacheTypeK: 'q8_0', cacheTypeV: 'q4_0' }].map((more) => workerNeed(configOf(more), { modelPath })),
  )
  expect(quantized?.bytes).toBeLessThan(plain?.bytes ?? 0)
})

test('a draft model needs its own memory: weights, and a context like that of the model', async () => {
  const [alone, drafting] = await Promise.all(
    [{}, { draftPath: modelPath }].map((more) => workerNeed(configOf({}), { modelPath, ...more })),
  )
  const slots = await workerNeed(configOf({ slots: 8 }), { modelPath, draftPath: modelPath })
  expect(drafting?.bytes).toBeGreaterThan((alone?.bytes ?? 0) + 4e6)
  expect(slots.bytes).toBeGreaterThan(drafting?.bytes ?? 0)
})
