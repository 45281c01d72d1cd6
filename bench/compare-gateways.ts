import { gateways } from './gateways.ts'
import { type BenchProcess, portOf, startServer } from './processes.ts'
import { openConnections } from './raw-load.ts'
import { inTurns, startAll } from './rounds.ts'
import { better, comparedRows, type Section } from './section.ts'

type Measure = {
  readonly title: string
  readonly unit: string
  readonly isTime: boolean
  of(server: BenchProcess, durationMs: number): Promise<number>
}

const bodyOf = (stream: boolean) => JSON.stringify({ model: 'up', stream, messages: [{ role: 'user', content: 'hello' }] })

const measures: readonly Measure[] = [
  ...[false, true].map((stream) => ({
    title: `${stream ? 'streamed' : 'whole'} replies, 16 connections`,
    unit: 'requests/s',
    isTime: false,
    of: async (server: BenchProcess, durationMs: number) => (await repeat(server, { stream, count: 16, durationMs })) * 1000,
  })),
  {
    title: 'a whole reply, one connection',
    unit: 'ms, mean',
    isTime: true,
    of: async (server, durationMs) => 1 / (await repeat(server, { stream: false, count: 1, durationMs: durationMs / 2 })),
  },
]

type Options = { readonly rounds: number; readonly roundMs: number; readonly warmUpMs: number }

/** Gateways in front of one server that answers at once: requests per second and the time of a request alone. */
export async function compareGateways({ rounds, roundMs, warmUpMs }: Options): Promise<Section[]> {
  const upstream = await startServer('upstream.ts', ['1'])
  const { running, missing } = await startAll(gateways, ({ start }) => start(upstream.url))
  const sections: Section[] = []
  for (const { title, unit, isTime, of } of measures) {
    for (const server of running) await of(server, sections.length === 0 ? warmUpMs : warmUpMs / 5)
    const result = await inTurns(running, (server) => of(server, roundMs), { rounds, limitMs: Number.POSITIVE_INFINITY })
    const rows = comparedRows(result.samples, { isTime })
    sections.push({ title, ratio: better, unit, isTime, rows, missing: [...missing, ...result.missing] })
  }
  for (const server of running) server.stop()
  upstream.stop()
  return sections
}

/** Replies per millisecond. */
async function repeat(server: BenchProcess, load: { stream: boolean; count: number; durationMs: number }): Promise<number> {
  const { stream, count, durationMs } = load
  const clients = await openConnections({ port: portOf(server), path: '/v1/chat/completions', body: bodyOf(stream), count })
  const startedMs = performance.now()
  const requests = await clients.run(durationMs)
  const elapsedMs = performance.now() - startedMs
  clients.close()
  return requests / elapsedMs
}
