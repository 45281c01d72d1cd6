import { gatewaysOf } from './gateways.ts'
import { startServer } from './processes.ts'
import { better, comparedRows, type Section } from './report/section.ts'
import { inTurns, startAll } from './rounds.ts'
import { openStreams } from './stream-load.ts'

const streams = 200
const eventsPerStream = 200
const apartMs = 20
const body = JSON.stringify({ model: 'up', stream: true, messages: [{ role: 'user', content: 'hello' }] })

/** Gateways in front of one server that streams as an engine does, each event in a write of its own: the CPU time of each event. */
export async function compareEvents({
  rounds,
  warmUpMs,
}: {
  readonly rounds: number
  readonly warmUpMs: number
}): Promise<Section> {
  const upstream = await startServer('upstream.ts', [eventsPerStream, apartMs].map(String))
  // LiteLLM takes a core for 200 streams alone.
  const compared = gatewaysOf([]).filter(({ name }) => name !== 'LiteLLM')
  const { running, missing } = await startAll(compared, ({ start }) => start(upstream.url))
  const microsOfEvent = async ({ url, usage }: (typeof running)[number]) => {
    const before = await usage()
    // Spread, so that each stream has its own time.
    await (await openStreams({ url, body, count: streams, overMs: 10 * apartMs })).finished
    return ((await usage()).cpuMicros - before.cpuMicros) / (streams * eventsPerStream)
  }
  for (let warmMs = 0; warmMs < warmUpMs; warmMs += eventsPerStream * apartMs)
    for (const server of running) await microsOfEvent(server)
  const result = await inTurns(running, microsOfEvent, { rounds, limitMs: Number.POSITIVE_INFINITY })
  for (const server of [...running, upstream]) server.stop()
  const rows = comparedRows(result.samples, { isTime: true })
  const title = `an event of ${streams} streams, ${apartMs} ms apart`
  return { title, ratio: better, unit: 'µs of CPU', isTime: true, rows, missing: [...missing, ...result.missing] }
}
