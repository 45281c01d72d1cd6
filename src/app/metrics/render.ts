import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Registry } from 'prom-client'

/** Others, such as the streams of this process, wait no longer than about this. */
const maxTurnMs = 2
const samplesPerPiece = 50

type Sample = { readonly value: number; readonly labels?: object; readonly metricName?: string }
/** A family of metrics with its samples, as prom-client lists it. */
type ReadMetric = { readonly name: string; readonly type: unknown; readonly values: readonly Sample[] }

/** The methods of a registry that its declared type lacks. */
type Formatting = {
  getMetricsAsArray(): readonly { get(): Promise<ReadMetric> }[]
  getMetricsAsString(metric: { get(): ReadMetric }): Promise<string>
}

/** All families with their samples, read in turns of the event loop of which none is long. */
export async function readInTurns(registry: Registry): Promise<readonly ReadMetric[]> {
  const metrics: ReadMetric[] = []
  const unlessLong = startTurn()
  for (const metric of (registry as unknown as Formatting).getMetricsAsArray()) {
    metrics.push(await metric.get())
    await unlessLong()
  }
  return metrics
}

/** As prom-client renders a registry, in turns of the event loop of which none is long. */
export async function renderInTurns(registry: Registry): Promise<string> {
  const formatting = registry as unknown as Formatting
  const families: string[] = []
  const unlessLong = startTurn()
  for (const metric of await readInTurns(registry)) {
    const head = await formatting.getMetricsAsString({ get: () => ({ ...metric, values: [] }) })
    const pieces = [head]
    for (let from = 0; from < metric.values.length; from += samplesPerPiece) {
      const values = metric.values.slice(from, from + samplesPerPiece)
      const piece = await formatting.getMetricsAsString({ get: () => ({ ...metric, values }) })
      pieces.push(piece.slice(head.length + 1))
      await unlessLong()
    }
    families.push(pieces.join('\n'))
  }
  return `${families.join('\n\n')}\n`
}

function startTurn(): () => Promise<void> | undefined {
  let startMs = performance.now()
  return () => {
    if (performance.now() - startMs < maxTurnMs) return undefined
    return nextTurn().then(() => {
      startMs = performance.now()
    })
  }
}
