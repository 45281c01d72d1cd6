import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readProgress, sizeOfFiles } from './load-progress.ts'
import type { ServerPlan } from './server-plan.ts'

async function planOf(bytes: number): Promise<ServerPlan> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-progress-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const modelPath = join(folder, 'm.gguf')
  await writeFile(modelPath, '')
  // A hole: it takes no room.
  await truncate(modelPath, bytes)
  return { binary: 'x', modelPath, contextLength: 1, slots: 1, flashAttention: 'auto', extraArguments: [] }
}

test('progress is the share of the files that is in memory, and never all of it', async () => {
  const half = await readProgress(process.pid, process.memoryUsage.rss() * 2)
  expect(half).toBeGreaterThan(0.3)
  expect(half).toBeLessThan(0.7)
  expect(await readProgress(process.pid, 10)).toBe(0.99)
})

test('progress stays 0 where a process or its files cannot be seen', async () => {
  expect(await readProgress(2 ** 30, 10)).toBe(0)
  expect(await readProgress(process.pid, 0)).toBe(0)
})

test('the size is that of all files, and a missing one has none', async () => {
  const plan = await planOf(12)
  expect(await sizeOfFiles({ ...plan, draft: { modelPath: plan.modelPath }, mmprojPath: '/nowhere.gguf' })).toBe(24)
})
