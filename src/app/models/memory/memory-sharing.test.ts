import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { promptCacheBytes, workerNeed } from './memory-sharing.ts'

const modelPath = fileURLToPath(new URL('../../../../models/dragoman-tiny.gguf', import.meta.url))
const plan = { modelPath, slots: 4, flashAttention: true, contextLength: 4096 }
const draft = { modelPath }

test('quantized caches need less memory', async () => {
  const [plain, quantized] = await Promise.all(
    [{}, { cacheTypeK: 'q8_0', cacheTypeV: 'q4_0' } as const].map((more) => workerNeed({ ...plan, ...more })),
  )
  expect(quantized?.bytes).toBeLessThan(plain?.bytes ?? 0)
})

test('prefixes need the memory that is set for them, and no memory of their own without a limit', async () => {
  const [plain, lent, set] = await Promise.all(
    [undefined, 'spare' as const, 1e9].map((memoryBytes) =>
      workerNeed({ ...plan, ...(memoryBytes !== undefined && { prefixCache: { memoryBytes, minTokens: 512 } }) }),
    ),
  )
  expect(lent?.bytes).toBe(plain?.bytes)
  expect(set?.bytes).toBe((plain?.bytes ?? 0) + 1e9)
})

test.each([
  { spareBytes: 2e9, bytes: 1e9 },
  { spareBytes: 1e12, bytes: undefined },
  { spareBytes: -1, bytes: 0 },
])('of $spareBytes that its model leaves, a llama-server keeps prompts in $bytes', ({ spareBytes, bytes }) => {
  expect(promptCacheBytes(spareBytes)).toBe(bytes)
})

test('a draft model needs its own memory: weights, and a context like that of the model', async () => {
  const [alone, drafting] = await Promise.all([{}, { draft }].map((more) => workerNeed({ ...plan, ...more })))
  const slots = await workerNeed({ ...plan, draft, slots: 8 })
  expect(drafting?.bytes).toBeGreaterThan((alone?.bytes ?? 0) + 4e6)
  expect(slots.bytes).toBeGreaterThan(drafting?.bytes ?? 0)
})
