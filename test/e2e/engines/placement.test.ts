import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { LoadOptions } from '../../../src/engine/llama/channel/ipc.ts'
import { LlamaEngine } from '../../../src/engine/llama/engine.ts'
import { chatRequest, completeChoices } from '../../engine-contract.ts'
import { startApp } from '../../support/http/app.ts'
import { llamaServerBinary, llamaServerHint } from '../../support/llama/llama-server.ts'
import { encodeSmallModel } from '../../support/llama/random-architectures.ts'

const never = new AbortController().signal

let folder: string
let modelPath: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-placement-'))
  modelPath = join(folder, 'mixture.gguf')
  await writeFile(modelPath, encodeSmallModel('qwen3moe', { width: 32 }))
})
afterAll(() => rm(folder, { recursive: true }))

function load(options: Partial<LoadOptions>) {
  let pid = 0
  const log = {
    debug: () => undefined,
    warn: () => undefined,
    info: (facts: object) => {
      if ('workerPid' in facts) pid = Number(facts.workerPid)
    },
  }
  const plan = { modelPath, slots: 1, contextLength: 512, threads: 1, flashAttention: true, ...options }
  const engine = new LlamaEngine({ id: 'm', locate: async () => plan, log })
  onTestFinished(() => engine.close())
  return { engine, process: (file: string) => readFileSync(`/proc/${pid}/${file}`, 'utf8') }
}

const lockedKb = (status: string) => Number(/^VmLck:\s*(\d+) kB$/m.exec(status)?.[1])
const textOf = async (engine: LlamaEngine) =>
  (await completeChoices(engine, chatRequest('Hi', { maxOutputTokens: 8 }))).choices[0]?.text

describe.skipIf(process.platform !== 'linux')('the memory of a model', () => {
  test('is mapped from its file, or read and locked as configured, with the same text', async () => {
    const plain = load({})
    const text = await textOf(plain.engine)
    expect(plain.process('maps')).toContain(modelPath)
    expect(lockedKb(plain.process('status'))).toBe(0)
    const placed = load({ placement: { experts: 'cpu', noMmap: true, lock: true } })
    expect(await textOf(placed.engine)).toBe(text)
    expect(placed.process('maps')).not.toContain(modelPath)
    expect(lockedKb(placed.process('status'))).toBeGreaterThan(100)
  })
})

test.each<[LoadOptions['placement'], string]>([
  [{ devices: ['CUDA7'] }, '`devices` names CUDA7, and llama.cpp finds no GPU here'],
  [{ tensorSplit: [3, 1] }, '`tensorSplit` has 2 shares, and llama.cpp finds no GPU here'],
  [{ mainGpu: 1 }, '`mainGpu` is 1, counted from 0, and llama.cpp finds no GPU here'],
])('without a GPU, %j is refused when the model is loaded', async (placement, message) => {
  await expect(load({ placement: placement ?? {} }).engine.ensureReady(never)).rejects.toThrow(message)
})

test.skipIf(llamaServerBinary === undefined)(`a llama-server gets these settings${llamaServerHint}`, async () => {
  const models = [
    {
      ...{
        id: 'm',
        engine: 'llama-server' as const,
        binary: llamaServerBinary ?? '',
        source: modelPath,
        slots: 1,
        contextLength: 512,
      },
      ...{ threads: 1, experts: 1, noMmap: true, lock: true },
    },
  ]
  const app = await startApp({ models, builtinModel: false })
  onTestFinished(() => app.close())
  const { workerPid } = app.logLines().find(({ msg }) => msg === 'model is ready') as unknown as { workerPid: number }
  const given = readFileSync(`/proc/${workerPid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  expect(given).toContain('--n-cpu-moe 1 --load-mode mlock')
  expect(lockedKb(readFileSync(`/proc/${workerPid}/status`, 'utf8'))).toBeGreaterThan(100)
})
