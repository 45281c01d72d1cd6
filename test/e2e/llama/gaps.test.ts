import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { RunCommand } from '../../../src/engine/llama/channel/ipc.ts'
import { resolveSampling } from '../../../src/engine/llama/channel/resolve-sampling.ts'
import { decode } from '../../../src/engine/llama/worker/answers/decode.ts'
import { loadModel, type WorkerModel } from '../../../src/engine/llama/worker/model/model.ts'
import { PrefillPacer } from '../../../src/engine/llama/worker/rounds/prefill-pacer.ts'
import { Rounds } from '../../../src/engine/llama/worker/rounds/rounds.ts'
import { SlotPool } from '../../../src/engine/llama/worker/slots/slot-pool.ts'
import type { Slot } from '../../../src/engine/llama/worker/slots/slots.ts'
import { watchPasses } from '../../support/llama/watch-passes.ts'

const modelPath = fileURLToPath(new URL('../../../models/dragoman-tiny.gguf', import.meta.url))
const silent = { onProgress: () => undefined, onLog: () => undefined, onWarning: () => undefined }

let loaded: WorkerModel
let pool: SlotPool<Slot>
beforeAll(async () => {
  const options = { modelPath, slots: 4, contextLength: 1024, threads: 1, flashAttention: true }
  loaded = { ...(await loadModel(options, silent)), rounds: new Rounds() }
  pool = new SlotPool<Slot>(loaded.slots)
})
afterAll(() => loaded.model.dispose())

type Saying = { readonly tokens: number; readonly pauses?: { readonly atText: number; readonly until: Promise<void> } }

/** What the model says after one token, greedily. */
async function say(token: number, { tokens, pauses }: Saying): Promise<string> {
  const texts: string[] = []
  let until: Promise<void> | undefined
  const control = { cancelled: () => false, paused: () => until }
  const command: RunCommand = {
    type: 'run',
    id: `${token}`,
    owner: '',
    tokens: Uint32Array.of(token),
    maxOutputTokens: tokens,
    stop: [],
    ignoreEos: true,
    sampling: resolveSampling({ request: { temperature: 0 } }),
    choices: 1,
    plan: {},
  }
  await decode({ ...loaded, pool, pacer: new PrefillPacer({ largestStep: 32 }) }, { command, control }, (one) => {
    if (one.type !== 'text') return
    texts.push(one.text)
    if (texts.length !== pauses?.atText) return
    until = pauses.until.then(() => {
      until = undefined
    })
  })
  return texts.join('')
}

/** How long single sequences take is never known here, so that gaps are always filled. */
test('streams are in one pass with neighbours that have ended or pause, and those go on as if nothing had been', async () => {
  const passes = watchPasses(loaded.context)
  let resume: () => void = () => undefined
  const until = new Promise<void>((resolve) => {
    resume = resolve
  })
  const [first, ended, paused, last] = [
    say(11, { tokens: 30 }),
    say(12, { tokens: 4 }),
    say(13, { tokens: 30, pauses: { atText: 5, until } }),
    say(14, { tokens: 30 }),
  ]
  await Promise.all([first, last])
  expect(passes).toEqual(Array.from({ length: 30 }, () => [0, 1, 2, 3]))
  resume()
  const texts = await Promise.all([first, ended, paused, last])

  const ofEnded = loaded.slots.map(({ sequence }) => [...sequence.contextTokens]).find(([token]) => token === 12)
  expect(ofEnded).toHaveLength(4)
  for (const { sequence } of loaded.slots) await sequence.clearHistory()
  const alone: string[] = []
  for (const [token, tokens] of [
    [11, 30],
    [12, 4],
    [13, 30],
    [14, 30],
  ] as const)
    alone.push(await say(token, { tokens }))
  expect(texts).toEqual(alone)
})
