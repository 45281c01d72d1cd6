import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { Context } from '../../../src/engine/llama/binding/context.ts'
import type { Token } from '../../../src/engine/llama/binding/tokenizer.ts'
import type { Report, RunCommand } from '../../../src/engine/llama/channel/ipc.ts'
import { resolveSampling } from '../../../src/engine/llama/channel/resolve-sampling.ts'
import { decode } from '../../../src/engine/llama/worker/answers/decode.ts'
import { loadModel, type WorkerModel } from '../../../src/engine/llama/worker/model/model.ts'
import { SlotPool } from '../../../src/engine/llama/worker/slots/slot-pool.ts'
import type { Slot } from '../../../src/engine/llama/worker/slots/slots.ts'
import { writeRandomBert } from '../../support/llama/random-bert.ts'
import { watchPasses } from '../../support/llama/watch-passes.ts'

const modelPath = fileURLToPath(new URL('../../../models/dragoman-tiny.gguf', import.meta.url))
const silent = { onProgress: () => undefined, onWarning: () => undefined, onLog: () => undefined }
/** Larger steps round otherwise (docs/inside/decisions/0020): how fast the machine is would then decide about texts. */
const largestStep = 32
const prompt = Array.from({ length: 700 }, (_, index) => 11 + ((index * 7) % 50))

describe('a pass that reads a prompt alone', () => {
  let loaded: WorkerModel
  let passes: number[][]
  let onPass: () => void = () => undefined
  let pool: SlotPool<Slot>
  const logged: [level: string, message: string][] = []
  beforeAll(async () => {
    const options = { modelPath, slots: 1, contextLength: 1024, threads: 1, flashAttention: true }
    const onLog = (level: string, message: string) => void logged.push([level, message])
    loaded = await loadModel(options, { ...silent, onLog })
    passes = watchPasses(loaded.context, () => onPass())
    pool = new SlotPool<Slot>(loaded.slots)
  })
  afterAll(() => loaded.model.dispose())

  /** Cancels the request when its pass of this number begins. */
  const run = async ({ cancelIn }: { readonly cancelIn?: number } = {}) => {
    passes.length = 0
    let cancelled = false
    onPass = () => {
      if (passes.length !== cancelIn) return
      cancelled = true
      loaded.rounds.interruptIfOver()
    }
    const texts: string[] = []
    const report = (one: Report) => {
      if (one.type === 'text') texts.push(one.text)
    }
    const full: RunCommand = {
      type: 'run',
      id: 'r',
      owner: '',
      tokens: Uint32Array.from(prompt),
      maxOutputTokens: 8,
      stop: [],
      ignoreEos: true,
      sampling: resolveSampling({ request: { temperature: 0 } }),
      choices: 1,
      plan: {},
    }
    const control = { cancelled: () => cancelled, paused: () => undefined }
    const done = await decode({ ...loaded, pacer: loaded.createPacer(largestStep), pool }, { command: full, control }, report)
    return { done, text: texts.join('') }
  }

  test('ends when its request is cancelled, and the slot keeps the steps before it', async () => {
    const whole = await run()
    expect(whole.done).toMatchObject({ cancelled: false, outputTokens: 8 })
    const [slot] = loaded.slots
    await slot?.sequence.clearHistory()
    const cut = await run({ cancelIn: 2 })
    expect(cut).toMatchObject({ done: { cancelled: true, outputTokens: 0 }, text: '' })
    expect(passes).toHaveLength(2)
    expect(slot?.sequence.nextTokenIndex).toBe(16)
    expect((await run()).text).toBe(whole.text)
  })

  test('is not an error in the log', () => {
    expect(logged.filter(([level]) => level === 'error')).toEqual([])
  })
})

describe('a pass that embeds a text', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dragoman-interrupt-'))
  })
  afterAll(() => rm(folder, { recursive: true }))

  test('of an encoder, which needs the whole text at once, ends when its request is cancelled', async () => {
    const path = join(folder, 'bert.gguf')
    await writeRandomBert(path, 'mean')
    const options = { modelPath: path, slots: 1, contextLength: 64, threads: 1, flashAttention: false }
    const { model, embedder } = await loadModel(options, silent)
    const tokens = Array.from({ length: 60 }, (_, index) => 5 + (index % 30)) as Token[]
    let cancelled = false
    const makeContext = Context.create.bind(Context)
    const create = vi.spyOn(Context, 'create').mockImplementation(async (...made) => {
      const context = await makeContext(...made)
      watchPasses(context, ({ length }) => {
        cancelled = length === 2
        embedder.interruptIfOver()
      })
      return context
    })
    const embed = () => embedder.embed(tokens, () => cancelled)
    const first = await embed()
    expect(first).toHaveLength(32)
    expect(await embed()).toBe('cancelled')
    cancelled = false
    expect(await embed()).toEqual(first)
    create.mockRestore()
    await model.dispose()
  })
})
