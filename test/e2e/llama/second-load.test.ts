import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { spawnWorker } from '../../../src/engine/llama/process.ts'
import { builtinModel } from '../../../src/registry/names/builtin-model.ts'

/** Loads a model in a worker, kills the worker, and resolves with the last that it reported. */
async function load(modelPath: string): Promise<string> {
  let onEnd: (report: string) => void = () => undefined
  const ended = new Promise<string>((resolve) => {
    onEnd = resolve
  })
  const worker = spawnWorker({
    onReport: ({ type }) => {
      if (type === 'ready' || type === 'load-failed') onEnd(type)
    },
    onLine: () => undefined,
  })
  worker.send({ type: 'load', options: { modelPath, slots: 1, contextLength: 128, flashAttention: false } })
  const report = await ended
  await worker.kill()
  return report
}

test('node-llama-cpp tries a build in a process of its own for the first worker, and after one that did not load', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-second-load-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const started = join(folder, 'started')
  writeFileSync(started, '')
  const note = join(folder, 'note.cjs')
  writeFileSync(note, `require('node:fs').appendFileSync(${JSON.stringify(started)}, process.argv[1] + '\\n')`)
  vi.stubEnv('NODE_OPTIONS', `--require ${note}`)
  onTestFinished(() => void vi.unstubAllEnvs())
  const trials = () => readFileSync(started, 'utf8').match(/testBindingBinary/g)?.length ?? 0

  // Other tests may have loaded a model in this process.
  expect(await load(join(folder, 'absent.gguf'))).toBe('load-failed')
  const before = trials()
  expect(await load(builtinModel.path)).toBe('ready')
  expect(trials() - before).toBe(1)
  expect(await load(builtinModel.path)).toBe('ready')
  expect(trials() - before).toBe(1)
  expect(await load(join(folder, 'absent.gguf'))).toBe('load-failed')
  expect(await load(builtinModel.path)).toBe('ready')
  expect(trials() - before).toBe(2)
})
