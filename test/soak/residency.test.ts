import { afterEach, expect, test } from 'vitest'
import { builtinModel } from '../../src/registry/names/builtin-model.ts'
import { type RunningApp, startApp } from '../support/http/app.ts'
import { soakLength } from '../support/process/soak-length.ts'

let app: RunningApp | undefined
afterEach(() => app?.close())

/** Two minutes. */
const durationMs = soakLength(120_000)
const minResidencyMs = 5000

const tiny = (id: string) =>
  ({ id, engine: 'llama', source: builtinModel.path, contextLength: 1024, slots: 2, load: 'demand' }) as const

type TimedReply = { readonly model: string; readonly status: number; readonly tookMs: number }

function post(url: string, body: object): Promise<Response> {
  return fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
}

/** Two models of which one fits, and an agent for each, which sends one request after the other. */
async function runAgents(url: string, isOver: (turns: number) => boolean): Promise<readonly TimedReply[]> {
  const turns: TimedReply[] = []
  const agent = async (model: string) => {
    while (!isOver(turns.length)) {
      const sentMs = performance.now()
      const response = await post(`${url}/v1/completions`, { model, prompt: 'one two', max_tokens: 20, ignore_eos: true })
      await response.arrayBuffer()
      turns.push({ model, status: response.status, tookMs: performance.now() - sentMs })
    }
  }
  await Promise.all([agent('a'), agent('b')])
  return turns
}

/** When each load began and how long it took, as logged. */
function loadsOf({ logLines }: RunningApp): number {
  return logLines().filter(({ msg }) => msg === 'model is ready').length
}

test('two agents alternate: no request fails, swaps are few, and the longest wait is bounded', async () => {
  app = await startApp({ builtinModel: false, memory: { budget: '300MB', minResidencyMs }, models: [tiny('a'), tiny('b')] })
  const warmUpMs = performance.now()
  for (const model of ['a', 'b']) await post(`${app.url}/v1/completions`, { model, prompt: 'one', max_tokens: 1 })
  // Two loads, and what makes room for the second.
  const swapMs = performance.now() - warmUpMs
  const untilMs = performance.now() + durationMs
  const turns = await runAgents(app.url, () => performance.now() >= untilMs)
  const loads = loadsOf(app)
  const longestMs = Math.max(...turns.map(({ tookMs }) => tookMs))
  console.info(
    `turns: ${turns.length}, loads: ${loads}, longest: ${Math.round(longestMs)} ms, two first loads: ${Math.round(swapMs)} ms`,
  )
  expect(turns.filter(({ status }) => status !== 200)).toEqual([])
  expect(loads).toBeLessThanOrEqual(2 + Math.ceil(durationMs / minResidencyMs) + 1)
  expect(turns.length / loads).toBeGreaterThan(3)
  // The other's time, or its load's if that is longer, and two loads; a busy machine may take five times as long as it did at first.
  expect(longestMs).toBeLessThan(minResidencyMs + 10 * swapMs)
}, 240_000)

test('crashes of workers under load and swaps lose no request that could be served', async () => {
  app = await startApp({ builtinModel: false, memory: { budget: '300MB', minResidencyMs: 2000 }, models: [tiny('a'), tiny('b')] })
  const { url, logLines } = app
  const untilMs = performance.now() + soakLength(30_000)
  let kills = 0
  // However busy the machine is.
  const isOver = (turns: number) => performance.now() >= untilMs && kills > 0 && turns > 20
  let areDone = false
  const killer = async () => {
    for (let seen = 0; !areDone; ) {
      await new Promise((resolve) => setTimeout(resolve, 200))
      const ready = logLines().filter(({ msg }) => msg === 'model is ready') as unknown as { workerPid: number }[]
      const last = ready.at(-1)
      if (ready.length % 3 !== 2 || ready.length === seen || last === undefined) continue
      seen = ready.length
      try {
        process.kill(last.workerPid, 'SIGKILL')
        kills += 1
      } catch {
        // It was unloaded meanwhile.
      }
    }
  }
  const agents = runAgents(url, isOver).finally(() => {
    areDone = true
  })
  const [turns] = await Promise.all([agents, killer()])
  // What ran on the worker that was killed fails; nothing else does.
  const failed = turns.filter(({ status }) => status !== 200)
  console.info(`turns: ${turns.length}, failed: ${failed.length}, loads: ${loadsOf(app)}`)
  expect(new Set(failed.map(({ status }) => status))).toEqual(failed.length === 0 ? new Set() : new Set([500]))
  expect(failed.length).toBeLessThanOrEqual(Math.ceil(loadsOf(app) / 3))
  expect(turns.filter(({ status }) => status === 200).length).toBeGreaterThan(10)
}, 120_000)
