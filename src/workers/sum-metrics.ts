import { AggregatorRegistry } from 'prom-client'

/** The metrics of one process, as prom-client's registries list them. */
export type MetricList = readonly { readonly name: string; readonly type: unknown }[]

/** Metrics that only grow: they must not fall when the process that counted them ends. */
export function whatCounts(metrics: MetricList): MetricList {
  return metrics.filter(({ type }) => type === 'counter' || type === 'histogram')
}

/** The metrics of several processes together: each is summed, or combined as declared. */
export function mergeMetrics(lists: readonly MetricList[]): MetricList {
  return listsOf(aggregate(lists))
}

/** As `mergeMetrics`, in Prometheus' text format. */
export function renderMetrics(lists: readonly MetricList[]): Promise<string> {
  return aggregate(lists).metrics()
}

function aggregate(lists: readonly MetricList[]) {
  // Its type allows only one list.
  return AggregatorRegistry.aggregate(lists as unknown as object[])
}

/** The metrics that `aggregate` registers answer synchronously, without collecting. */
function listsOf(registry: ReturnType<typeof aggregate>): MetricList {
  return registry.getMetricsAsArray().map((metric) => (metric as unknown as { get(): MetricList[number] }).get())
}
