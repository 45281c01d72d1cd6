import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Report, RunCommand } from '../../../src/engine/llama/channel/ipc.ts'
import { resolveSampling } from '../../../src/engine/llama/channel/resolve-sampling.ts'
import { decode } from '../../../src/engine/llama/worker/answers/decode.ts'
import { loadModel, type WorkerModel } from '../../../src/engine/llama/worker/model/model.ts'
import { PrefillPacer } from '../../../src/engine/llama/worker/rounds/prefill-pacer.ts'
import { Rounds } from '../../../src/engine/llama/worker/rounds/rounds.ts'
import type { RunControl } from '../../../src/engine/llama/worker/sampling/run-control.ts'
import { SlotPool } from '../../../src/engine/llama/worker/slots/slot-pool.ts'
import type { Slot } from '../../../src/engine/llama/worker/slots/slots.ts'
import { watchPasses } from '../../support/llama/watch-passes.ts'

const modelPath = fileURLToPath(new URL('../../../models/dragoman-tiny.gguf', import.meta.url))
const silent = { onProgress: () => undefined, onLog: () => undefined, onWarning: () => undefined }
const undisturbed: RunControl = { cancelled: () => false, paused: () => undefined }

test('steps of prompts may take as long as `stopWithinMs` says', async () => {
  // A prompt alone may be interrupted, and then takes longer steps.
  const round = { tokens: 0, prompts: 2, tokensMs: 0 }
  const stepWith = async (stopWithinMs: number) => {
    const options = { modelPath, slots: 1, contextLength: 1024, threads: 1, flashAttention: true, stopWithinMs }
    const { model, createPacer } = await loadModel(options, silent)
    const pacer = createPacer(504)
    const finished = pacer.measure({ ...round }, { tokens: 16, depth: 0 })
    await pause(160)
    finished()
    await model.dispose()
    return pacer.stepOf({ ...round }, { remaining: 64 * 100, depth: 0 })
  }
  expect(await stepWith(250)).toBeLessThan(64)
  expect(await stepWith(10_000)).toBeGreaterThanOrEqual(64)
})

/** Passes are counted, not timed: how fast the machine is changes nothing here. */
describe('streams on the embedded engine', () => {
  let loaded: WorkerModel
  let passes: number[][]
  let pool: SlotPool<Slot>
  beforeAll(async () => {
    const options = { modelPath, slots: 4, contextLength: 1024, threads: 1, flashAttention: true }
    // How many are computed in one pass would otherwise depend on what is faster.
    loaded = { ...(await loadModel(options, silent)), rounds: new Rounds() }
    passes = watchPasses(loaded.context)
  })
  beforeEach(async () => {
    await Promise.all(loaded.slots.map(({ sequence }) => sequence.clearHistory()))
    pool = new SlotPool<Slot>(loaded.slots.map((slot) => ({ ...slot, busy: false, lastUsed: 0 })))
    passes.length = 0
  })
  afterAll(() => loaded.model.dispose())

  type Wanted = {
    readonly prompt: readonly number[]
    readonly command?: Partial<RunCommand>
    readonly control?: RunControl
    readonly rounds?: Rounds
  }
  const run = (
    { prompt, command = {}, control = undisturbed, rounds = loaded.rounds }: Wanted,
    report: (one: Report) => void = () => undefined,
  ) => {
    const full: RunCommand = {
      type: 'run',
      id: prompt.join(),
      owner: '',
      tokens: Uint32Array.from(prompt),
      maxOutputTokens: 30,
      stop: [],
      ignoreEos: true,
      sampling: resolveSampling({ request: { temperature: 1, seed: 3 } }),
      choices: 1,
      plan: {},
      ...command,
    }
    const pacer = new PrefillPacer({ largestStep: 32 })
    return decode({ ...loaded, rounds, pacer, pool }, { command: full, control }, report)
  }
  /** Stops reading at its fifth text, until `resume`. */
  const createSlowReader = () => {
    let texts = 0
    let paused: Promise<void> | undefined
    let resume: () => void = () => undefined
    const onText = (one: Report) => {
      if (one.type !== 'text' || ++texts !== 5) return
      paused = new Promise((resolve) => {
        resume = () => {
          paused = undefined
          resolve()
        }
      })
    }
    return { onText, control: { ...undisturbed, paused: () => paused }, resume: () => resume() }
  }

  test('four of 30 tokens take 30 passes', async () => {
    await Promise.all([11, 12, 13, 14].map((token) => run({ prompt: [token] })))
    expect(passes).toEqual(Array.from({ length: 30 }, () => [0, 1, 2, 3]))
  })

  test('are computed one by one where that is faster, and say the same', async () => {
    const texts = async (rounds: Rounds) => {
      const said = ['', '', '']
      const greedy = { sampling: resolveSampling({ request: { temperature: 0 } }) }
      const speak = (token: number, index: number) =>
        run({ prompt: [token], command: greedy, rounds }, (one) => {
          if (one.type === 'text') said[index] += one.text
        })
      await Promise.all([11, 12, 13].map(speak))
      return said
    }
    const together = await texts(loaded.rounds)
    expect(together).not.toContain('')
    passes.length = 0
    // As on a processor that computes one sequence in a fifth of the time of three.
    const now = () => passes.reduce((ms, sequences) => ms + (sequences.length === 1 ? 1 : 5), 0)
    expect(await texts(new Rounds({ mayDivide: true, now }))).toEqual(together)
    const alone = passes.filter(({ length }) => length === 1).flat()
    expect(alone.length).toBeGreaterThan(60)
    // Some passes of one in a row.
    expect(alone.filter((sequence, index) => sequence !== alone[index - 1]).length).toBeLessThan(alone.length / 3)
  })

  test('are computed in neighbouring sequences, in rising order, whatever slots were used before', async () => {
    await run({ prompt: [19] })
    await run({ prompt: [20] })
    passes.length = 0
    await Promise.all([11, 12, 13].map((token) => run({ prompt: [token] })))
    for (const sequences of passes) {
      const [first = 0] = sequences
      expect(sequences).toEqual(sequences.map((_, index) => first + index))
    }
  })

  test('with grammars, log-probabilities and penalties sample beside the others', async () => {
    await Promise.all([
      run({ prompt: [11], command: { topLogprobs: 3 } }),
      run({ prompt: [12], command: { sampling: resolveSampling({ request: { repetitionPenalty: 1.2, seed: 1 } }) } }),
      run({ prompt: [13], command: { choices: 2 } }),
    ])
    // The second choice of the last one begins a little later.
    expect(passes.length).toBeLessThan(36)
  })

  test('go on together while one of them pauses, and when it comes back', async () => {
    const reader = createSlowReader()
    const slow = run({ prompt: [21], control: reader.control }, reader.onText)
    await Promise.all([run({ prompt: [11] }), run({ prompt: [12] })])
    expect(passes).toHaveLength(30)
    expect(passes.at(-1)).toHaveLength(2)
    reader.resume()
    await slow
    expect(passes).toHaveLength(30 + 25)
  })

  test('are in the passes that read a prompt: reading adds none while they last', async () => {
    const long = Array.from({ length: 300 }, (_, index) => 11 + (index % 50))
    await Promise.all([run({ prompt: [11] }), run({ prompt: long, command: { maxOutputTokens: 1 } })])
    expect(passes).toHaveLength(30)
  })

  test('do not hold up a request that must erase what its slot remembers', async () => {
    await Promise.all([1, 2, 3, 4].map((token) => run({ prompt: [token], command: { maxOutputTokens: 3 } })))
    const order: string[] = []
    let short: Promise<unknown> | undefined
    const begin = (one: Report) => {
      if (one.type === 'text')
        short ??= run({ prompt: [18, 19], command: { maxOutputTokens: 2 } }).then(() => order.push('short'))
    }
    const long = [15, 16, 17].map((token) => run({ prompt: [token], command: { maxOutputTokens: 200 } }, begin))
    await Promise.all(long.map((one) => one.then(() => order.push('long'))))
    await short
    expect(order).toEqual(['short', 'long', 'long', 'long'])
  })

  /** Replaces a part of what a pass needs by something that fails, until the returned function is called. */
  const breakPart = (target: object, name: string, broken: PropertyDescriptor): (() => void) => {
    const own = Object.getOwnPropertyDescriptor(target, name)
    Object.defineProperty(target, name, { ...broken, configurable: true })
    return () => (own === undefined ? Reflect.deleteProperty(target, name) : Object.defineProperty(target, name, own))
  }
  const fails = (): never => {
    throw new Error('it is broken')
  }

  test.each<[string, (model: WorkerModel) => () => void]>([
    ['filled', ({ context }) => breakPart(context, 'batchSize', { get: fails })],
    [
      'computed',
      ({ context }) =>
        breakPart(context, 'library', { value: { ...context.library, decode: { inThread: async () => fails() } } }),
    ],
    ['remembered', ({ slots }) => breakPart(slots[0]?.sequence as object, 'append', { value: fails })],
    ['read', ({ context }) => breakPart(context, 'logits', { value: fails })],
  ])('all end with the error of a pass that cannot be %s, and the next ones say what they always say', async (_, breakIn) => {
    const say = async () => {
      const texts: string[] = []
      const speak = (token: number, index: number) =>
        run({ prompt: [token], command: { topLogprobs: 1 } }, (one) => {
          if (one.type === 'text') texts[index] = (texts[index] ?? '') + one.text
        })
      await Promise.all([11, 12].map(speak))
      return texts
    }
    const expected = await say()
    const repair = breakIn(loaded)
    const ends = await Promise.all([11, 12].map((token) => run({ prompt: [token], command: { topLogprobs: 1 } }).catch(String)))
    repair()
    expect(ends).toEqual(['Error: it is broken', 'Error: it is broken'])
    expect(await say()).toEqual(expected)
  })

  test('are not hurt by one that fails or leaves', async () => {
    const bias = new Map(Array.from({ length: loaded.vocabulary.size }, (_, id) => [id, -100] as const))
    const failing = { sampling: { ...resolveSampling({ request: {} }), logitBias: bias } }
    let texts = 0
    const leaving = { ...undisturbed, cancelled: () => texts >= 5 }
    const count = (one: Report) => {
      if (one.type === 'text') texts += 1
    }
    const [left, sound] = await Promise.all([
      run({ prompt: [12], control: leaving }, count),
      run({ prompt: [11] }),
      run({ prompt: [13], command: failing }).catch(() => undefined),
    ])
    expect(left).toMatchObject({ cancelled: true })
    expect(sound).toMatchObject({ cancelled: false, outputTokens: 30 })
    expect(passes).toHaveLength(30)
    expect(loaded.slots.every(({ busy }) => !busy)).toBe(true)
  })
})
