import { trainedContext } from './compare-prompts.ts'
import { engines } from './engines.ts'
import { type BenchProcess, portOf, startDragoman, startServer } from './processes.ts'
import { openConnections } from './raw-load.ts'
import { grownRows, type Missing, ratioRows, type Section } from './report/section.ts'
import { inTurns } from './rounds.ts'
import { predictMs, seaText, sizeName } from './sizes.ts'

type GatewayOptions = { readonly rounds: number; readonly roundMs: number; readonly warmUpMs: number }

const wordsPerMessage = 500

/** A conversation of so many words. */
function conversation(size: number): string {
  const messages = Array.from({ length: Math.ceil(size / wordsPerMessage) }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: seaText(Math.min(wordsPerMessage, size - index * wordsPerMessage)),
  }))
  return JSON.stringify({ model: 'up', stream: true, messages })
}

/** The time and memory of requests that are passed on to a server that answers at once, against a bare proxy: what long prompts cost us. */
export async function passedOnPrompts(sizes: readonly number[], options: GatewayOptions): Promise<Section[]> {
  const { rounds, roundMs, warmUpMs } = options
  const upstream = await startServer('upstream.ts', ['1'])
  const remote = { id: 'up', engine: 'remote', endpoints: [{ url: `${upstream.url}/v1` }] }
  const ours = { name: 'dragoman', ...(await startDragoman([remote], { storage: 'off' })) }
  const proxy = { name: 'bare proxy', ...(await startServer('proxy.ts', [upstream.url])) }
  const targets = [ours, proxy]
  const times = { ours: new Map<string, readonly number[]>(), proxy: new Map<string, readonly number[]>() }
  const memory = new Map<string, readonly number[]>()
  for (const size of sizes) {
    const body = conversation(size)
    // The first requests also warm up what all of them share.
    for (const target of targets) await requestMs(target, body, size === sizes[0] ? 4 * warmUpMs : warmUpMs)
    const limits = { rounds, limitMs: Number.POSITIVE_INFINITY }
    const { samples } = await inTurns(targets, (target) => requestMs(target, body, roundMs), limits)
    times.ours.set(sizeName(size), samples.get(ours.name) ?? [])
    times.proxy.set(sizeName(size), samples.get(proxy.name) ?? [])
    memory.set(sizeName(size), [(await ours.usage()).rssBytes / 1024 / 1024])
  }
  for (const { stop } of [...targets, upstream]) stop()
  const missing: Missing[] = []
  return [
    {
      title: 'prompt of N words, passed on to a server',
      ratio: 'times the bare proxy',
      unit: 'ms, mean',
      rows: ratioRows(times.ours, times.proxy),
      missing,
      isTime: true,
      isGrowth: true,
    },
    {
      title: 'memory of the process after such prompts',
      ratio: 'times the first',
      unit: 'MiB',
      rows: grownRows(memory),
      missing,
      isGrowth: true,
    },
  ]
}

/** The mean time of a streamed reply on one connection. */
async function requestMs(server: BenchProcess, body: string, durationMs: number): Promise<number> {
  const client = await openConnections({ port: portOf(server), path: '/v1/chat/completions', body, count: 1 })
  const startedMs = performance.now()
  const requests = await client.run(durationMs)
  const elapsedMs = performance.now() - startedMs
  client.close()
  return elapsedMs / requests
}

type ModelOptions = { readonly modelPath: string; readonly gpu: boolean; readonly limitMs: number }

/** The time to the first token on our engine for a model, as far as its context and the time go; each prompt once. */
export async function computedPrompts(sizes: readonly number[], { modelPath, gpu, limitMs }: ModelOptions): Promise<Section> {
  const [engine] = engines
  if (engine === undefined) throw new Error('there is no engine')
  const contextLength = Math.min(await trainedContext(modelPath), (sizes.at(-1) ?? 0) + 1000)
  const { run, stop } = await engine.start({ modelPath, gpu, slots: 1, contextLength })
  const { promptTokens } = await run({ prompts: [seaText(100)], tokens: 1 })
  const times = new Map<string, readonly number[]>()
  const missing: Missing[] = []
  const untilMs = performance.now() + limitMs
  let last: { readonly size: number; readonly ms: number } | undefined
  const fitting = sizes.filter((size) => size <= contextLength - 100)
  for (const size of fitting) {
    if (last !== undefined && predictMs(last, size) > untilMs - performance.now()) {
      missing.push({
        name: `${sizeName(size)} and more`,
        reason: `would take longer than ${Math.round(limitMs / 1000)} s together; --minutes sets more`,
      })
      break
    }
    const { ms } = await run({ prompts: [`${size}: ${seaText(Math.round((size * 100) / promptTokens))}`], tokens: 1 })
    times.set(sizeName(size), [ms / 1000])
    last = { size, ms }
  }
  const [tooLong] = sizes.slice(fitting.length)
  if (tooLong !== undefined)
    missing.push({ name: `${sizeName(tooLong)} and more`, reason: `the model's context has ${contextLength} tokens` })
  stop()
  const rows = grownRows(times)
  return {
    title: 'cold prompt of N tokens, computed',
    ratio: 'times the first',
    unit: 's',
    rows,
    missing,
    isTime: true,
    isGrowth: true,
  }
}
