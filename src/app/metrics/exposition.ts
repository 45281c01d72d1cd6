import type { Metric, Registry } from 'prom-client'
import type { Distribution } from './distribution.ts'

export type Labels = Readonly<Record<string, string>>

export type Declaration = {
  readonly name: string
  readonly help: string
  /** In this order in every sample: the sums of several processes rely on it. */
  readonly labelNames: readonly string[]
  /** How the values of several processes are combined; absent: their sum. */
  readonly aggregator?: 'first' | 'max' | 'average'
}

type Value = { readonly value: number; readonly labels: Record<string, string | number>; readonly metricName?: string }

/**
 * A metric whose samples are read when the metrics are rendered. prom-client's own counters take 3 to 4 µs for each call (measured); here,
 * the counts are plain numbers.
 */
export function addMetric(
  registry: Registry,
  { type, ...declaration }: Declaration & { readonly type: 'counter' | 'gauge' },
  read: () => Iterable<readonly [labels: Labels, value: number]>,
): void {
  register(registry, { type, ...declaration }, () => Array.from(read(), ([labels, value]) => ({ value, labels: { ...labels } })))
}

/** As `addMetric`, for a histogram; each sample has the bounds of its distribution. */
export function addHistogram(
  registry: Registry,
  declaration: Declaration,
  read: () => Iterable<readonly [labels: Labels, distribution: Distribution]>,
): void {
  const { name } = declaration
  register(registry, { type: 'histogram', ...declaration }, () =>
    [...read()].flatMap(([labels, { bounds, counts, count, sum }]) => {
      let below = 0
      const bucket = (le: number | string, value: number): Value => ({
        value,
        labels: { le, ...labels },
        metricName: `${name}_bucket`,
      })
      return [
        ...bounds.map((le, index) => {
          below += counts[index] ?? 0
          return bucket(le, below)
        }),
        bucket('+Inf', count),
        { value: sum, labels: { ...labels }, metricName: `${name}_sum` },
        { value: count, labels: { ...labels }, metricName: `${name}_count` },
      ]
    }),
  )
}

function register(
  registry: Registry,
  { aggregator = 'sum', ...declaration }: Omit<Declaration, 'aggregator'> & { type: string; aggregator?: string },
  values: () => readonly Value[],
): void {
  const { name, help, type } = declaration
  const metric = { ...declaration, aggregator, get: async () => ({ name, help, type, values: values(), aggregator }) }
  // The methods that a registry needs; its type requires everything that the library's own metrics have.
  registry.registerMetric(metric as unknown as Metric)
}
