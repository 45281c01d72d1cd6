/** The load of a server by all of its clients, as it reports it. */
export type LoadReport = {
  /** Requests that it is answering. Absent: it does not say. */
  readonly running?: number
  readonly waiting: number
  /** The part of its memory for prompts that its requests use, from 0 to 1. */
  readonly cacheUse?: number
}

/** The header that asks for a report in the head of a reply; vLLM adds it to whole replies. */
export const loadRequestHeaders = { 'endpoint-load-metrics-format': 'TEXT' }

const running = 'vllm:num_requests_running'
const waiting = 'vllm:num_requests_waiting'
const cacheUse = 'vllm:kv_cache_usage_perc'

/** The metrics of vLLM that say the same. */
export const loadMetrics: readonly string[] = [running, waiting, cacheUse]

/** The report in a reply's header, such as `TEXT named_metrics.kv_cache_usage_perc=0.4, named_metrics.num_requests_waiting=3.0`. */
export function reportInHeaders(headers: Readonly<Record<string, unknown>>): LoadReport | undefined {
  const { 'endpoint-load-metrics': text } = headers
  if (typeof text !== 'string' || !text.startsWith('TEXT ')) return undefined
  const pairs = text
    .slice('TEXT '.length)
    .split(',')
    .map((pair) => pair.trim().split('='))
  const metric = (name: string) => countIn(pairs.find(([key]) => key === `named_metrics.${name}`)?.[1])
  return reportOf({ waiting: metric('num_requests_waiting'), cacheUse: metric('kv_cache_usage_perc') })
}

/** The report in lines of metrics. A server with several engines has a line for each. */
export function reportInMetrics(lines: readonly string[]): LoadReport | undefined {
  const valuesOf = (name: string) =>
    lines
      .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
      .flatMap((line) => countIn(line.slice(line.lastIndexOf(' ') + 1)) ?? [])
  const sumOf = (name: string) => {
    const values = valuesOf(name)
    return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0)
  }
  const uses = valuesOf(cacheUse)
  return reportOf({
    running: sumOf(running),
    waiting: sumOf(waiting),
    cacheUse: uses.length === 0 ? undefined : Math.max(...uses),
  })
}

type Found = { readonly [Name in keyof LoadReport]: LoadReport[Name] | undefined }

function reportOf({ running, waiting, cacheUse }: Found): LoadReport | undefined {
  if (waiting === undefined) return undefined
  return { waiting, ...(running !== undefined && { running }), ...(cacheUse !== undefined && { cacheUse }) }
}

function countIn(text: string | undefined): number | undefined {
  const value = text === undefined || text === '' ? Number.NaN : Number(text)
  return Number.isFinite(value) && value >= 0 ? value : undefined
}
