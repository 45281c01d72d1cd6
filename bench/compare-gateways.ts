import { gatewaysOf } from './gateways.ts'
import { startLoads } from './loads.ts'
import { portOf, startServer } from './processes.ts'
import { better, comparedRows, type Section } from './report/section.ts'
import { inTurns, startAll } from './rounds.ts'

type Options = {
  readonly rounds: number
  readonly roundMs: number
  readonly warmUpMs: number
  /** For each of these numbers of workers, Dragoman is measured too. */
  readonly workers: readonly number[]
  /** As many make load, and as many are the server behind the gateways. */
  readonly loadProcesses: number
}

const connectionsPerProcess = 16

/** Gateways in front of one server that answers at once: requests per second and the time of a request alone. */
export async function compareGateways({ rounds, roundMs, warmUpMs, workers, loadProcesses }: Options): Promise<Section[]> {
  const upstream = await startServer('upstream.ts', ['1', '0', String(loadProcesses)])
  const [all, alone] = [await startLoads(loadProcesses), await startLoads(1)]
  const connections = `${connectionsPerProcess * loadProcesses} connections`
  const many = { loads: all, count: connectionsPerProcess, unit: 'requests/s', isTime: false }
  const one = { loads: alone, count: 1, unit: 'ms, mean', isTime: true }
  const measures = [
    { ...many, title: `whole replies, ${connections}`, stream: false },
    { ...many, title: `streamed replies, ${connections}`, stream: true },
    { ...one, title: 'a whole reply, one connection', stream: false },
  ]

  const { running, missing } = await startAll(gatewaysOf(workers), ({ start }) => start(upstream.url))
  const sections: Section[] = []
  for (const { title, unit, isTime, loads, count, stream } of measures) {
    const body = JSON.stringify({ model: 'up', stream, messages: [{ role: 'user', content: 'hello' }] })
    const repliesPerMs = (server: (typeof running)[number], durationMs: number) =>
      loads.run({ port: portOf(server), path: '/v1/chat/completions', body, count, durationMs })
    for (const server of running) await repliesPerMs(server, sections.length === 0 ? warmUpMs : warmUpMs / 5)
    const measure = async (server: (typeof running)[number]) =>
      isTime ? 1 / (await repliesPerMs(server, roundMs / 2)) : 1000 * (await repliesPerMs(server, roundMs))
    const result = await inTurns(running, measure, { rounds, limitMs: Number.POSITIVE_INFINITY })
    const rows = comparedRows(result.samples, { isTime })
    sections.push({ title, ratio: better, unit, isTime, rows, missing: [...missing, ...result.missing] })
  }
  for (const server of [...running, upstream, all, alone]) server.stop()
  return sections
}
