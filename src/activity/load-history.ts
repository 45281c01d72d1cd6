import { Ring } from '../base/ring.ts'
import type { LoadSample } from '../contract/server/activity.ts'

/** The totals since the server started, and the present load. */
export type LoadReading = Pick<LoadSample, 'ended' | 'failed' | 'running' | 'waiting' | 'modelBytes' | 'processBytes'> & {
  readonly inputTokens: number
  readonly outputTokens: number
  /** The times of the requests that ended since the last reading, in milliseconds. */
  readonly firstTokenMs: readonly number[]
}

/** An hour. */
const samples = 360
export const sampleEveryMs = 10_000

/** The load of the server in each interval of the last hour. */
export class LoadHistory {
  readonly #samples = new Ring<LoadSample>(samples)
  #last: LoadReading

  constructor(first: LoadReading) {
    this.#last = first
  }

  /** Ends an interval. */
  note(reading: LoadReading, { atMs, intervalMs }: { readonly atMs: number; readonly intervalMs: number }): void {
    const last = this.#last
    this.#last = reading
    const { running, waiting, modelBytes, processBytes } = reading
    const sorted = [...reading.firstTokenMs].sort((a, b) => a - b)
    const perSecond = (now: number, before: number) => Math.round((10_000 * (now - before)) / intervalMs) / 10
    this.#samples.push({
      atMs,
      outputTokensPerSecond: perSecond(reading.outputTokens, last.outputTokens),
      inputTokensPerSecond: perSecond(reading.inputTokens, last.inputTokens),
      ended: reading.ended - last.ended,
      failed: reading.failed - last.failed,
      running,
      waiting,
      modelBytes,
      processBytes,
      ...(sorted.length > 0 && { firstTokenMs: quantile(sorted, 0.5), slowFirstTokenMs: quantile(sorted, 0.95) }),
    })
  }

  get next(): number {
    return this.#samples.count
  }

  /** The samples from this number on, as far as they are kept. */
  since(number: number): readonly LoadSample[] {
    const first = Math.max(number, this.#samples.first)
    return Array.from({ length: Math.max(0, this.#samples.count - first) }, (_, index) => this.#samples.at(first + index)).filter(
      (sample) => sample !== undefined,
    )
  }
}

/** The smallest value that this share of all does not exceed. */
function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0
}
