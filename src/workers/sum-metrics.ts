import { AggregatorRegistry } from 'prom-client'

/** The metrics of one process, as prom-client's registries list them. */
export type MetricList = readonly { readonly name: string; readonly type: unknown }[]

/** What only grows: it must not fall when the process that counted it ends. */
export function whatCounts(metrics: MetricList): MetricList {
  return metrics.filter(({ type }) => type === 'counter' || type === 'histogram')
}

/** The metrics of several processes together: each is summed, or what its declaration says. */
export function mergeMetrics(lists: readonly MetricList[]): MetricList {
  return listsOf(aggregate(lists))
}

/** The same as Prometheus' text. */
export function renderMetrics(lists: readonly MetricList[]): Promise<string> {
  return aggregate(lists).metrics()
}

function aggregate(lists: readonly MetricList[]) {
  // Its type says that it takes one list.
  return AggregatorRegistry.aggregate(lists as unknown as object[])
}

/** What `aggregate` has registered answers at once, without collecting. */
function listsOf(registry: ReturnType<typeof aggregate>): MetricList {
  return registry.getMetricsAsArray().map((metric) => (metric as unknown as { get(): MetricList[number] }).get())
}
