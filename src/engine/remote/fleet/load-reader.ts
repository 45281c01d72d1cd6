import { loadMetrics, reportInMetrics } from '../servers/load-report.ts'
import type { Endpoint, UpstreamClient } from '../transport/client.ts'
import type { CheckNews } from './other-processes.ts'
import type { Pool } from './pool.ts'

type LoadReaderOptions = {
  readonly client: Pick<UpstreamClient, 'metrics'>
  readonly pool: Pick<Pool, 'reportLoad'>
  readonly checkNews?: CheckNews | undefined
  readonly stopped: AbortSignal
  now(): number
}

/** Without a request for this time, nobody needs to know how busy the servers are. */
const usedForMs = 60_000

/** Reads how busy servers are in their metrics, while requests come. */
export class LoadReader {
  readonly #options: LoadReaderOptions
  #usedMs = Number.NEGATIVE_INFINITY

  constructor(options: LoadReaderOptions) {
    this.#options = options
  }

  /** A request has come. */
  noteUse(nowMs: number): void {
    this.#usedMs = nowMs
  }

  /** To be called after a check: a server without the metrics is healthy as well. */
  async read(endpoint: Endpoint): Promise<void> {
    const { client, pool, checkNews, stopped, now } = this.#options
    if (now() - this.#usedMs > usedForMs) return
    const load = reportInMetrics(await client.metrics(endpoint, loadMetrics, stopped).catch(() => []))
    if (load === undefined) return
    pool.reportLoad(endpoint.id, load, now())
    checkNews?.passed(endpoint.id, load)
  }
}
