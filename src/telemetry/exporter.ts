/** How many spans were sent, and how many arrived. */
export type SpanCounts = {
  readonly exported: number
  /** Without room: the collector is unreachable or too slow. */
  readonly dropped: number
  /** The collector refused them, or did not accept them in several attempts. */
  readonly failed: number
}

/** How the collector answered. */
export type SendResult = { readonly status: number; readonly retryAfterMs?: number | undefined }

export type ExporterOptions = {
  /** Sends a batch. Rejects without an answer. */
  send(spans: readonly string[]): Promise<SendResult>
  /** Ends early when the signal is aborted, without rejecting. */
  wait(ms: number, signal: AbortSignal): Promise<void>
  /** Called when batches can no longer be sent, and when they can again. */
  onAway?(reason: string): void
  onBack?(): void
  readonly maxQueued?: number
  readonly maxBatch?: number
  /** How long spans wait for others. */
  readonly delayMs?: number
}

const maxTries = 4
const firstPauseMs = 1000
const maxPauseMs = 30_000
const closeWithinMs = 3000
const retryable: ReadonlySet<number> = new Set([429, 502, 503, 504])

/**
 * Sends spans in batches, one at a time. Nothing waits for it: spans that the collector does not accept in time are dropped and counted,
 * and at most `maxQueued` spans and one batch are in memory.
 */
export class SpanExporter {
  readonly #options: Required<Omit<ExporterOptions, 'onAway' | 'onBack'>> & Pick<ExporterOptions, 'onAway' | 'onBack'>
  #queue: string[] = []
  #sending: Promise<void> | undefined
  #isClosing = false
  #isAway = false
  #pausing: { readonly ending: AbortController; readonly endsWhenFull: boolean } | undefined
  #exported = 0
  #dropped = 0
  #failed = 0

  constructor(options: ExporterOptions) {
    this.#options = { maxQueued: 2048, maxBatch: 512, delayMs: 5000, ...options }
  }

  get counts(): SpanCounts {
    return { exported: this.#exported, dropped: this.#dropped, failed: this.#failed }
  }

  /** Adds a span as text of OTLP/JSON. */
  add(span: string): void {
    if (this.#queue.length >= this.#options.maxQueued || this.#isClosing) {
      this.#dropped += 1
      return
    }
    this.#queue.push(span)
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined
    })
    if (this.#queue.length >= this.#options.maxBatch && this.#pausing?.endsWhenFull === true) this.#pausing.ending.abort()
  }

  /** Sends the rest within a few seconds, and drops what the collector does not accept immediately. */
  async close(): Promise<void> {
    this.#isClosing = true
    this.#pausing?.ending.abort()
    if (this.#sending === undefined) return
    const timer = new AbortController()
    await Promise.race([this.#sending, this.#options.wait(closeWithinMs, timer.signal)])
    timer.abort()
  }

  async #sendAll(): Promise<void> {
    while (this.#queue.length > 0) {
      if (this.#queue.length < this.#options.maxBatch) await this.#pause(this.#options.delayMs, true)
      const batch = this.#queue.slice(0, this.#options.maxBatch)
      this.#queue = this.#queue.slice(batch.length)
      await this.#deliver(batch)
      if (!this.#isClosing || !this.#isAway) continue
      this.#failed += this.#queue.length
      this.#queue = []
    }
  }

  async #deliver(batch: readonly string[]): Promise<void> {
    let reason = ''
    for (let tries = 1; tries <= maxTries; tries++) {
      const { status, retryAfterMs } = await this.#options.send(batch).catch((error: unknown) => {
        reason = error instanceof Error ? error.message : String(error)
        return { status: 503, retryAfterMs: undefined }
      })
      if (status >= 200 && status < 300) {
        this.#exported += batch.length
        if (this.#isAway) this.#options.onBack?.()
        this.#isAway = false
        return
      }
      if (reason === '') reason = `status ${status}`
      if (!retryable.has(status) || this.#isClosing) break
      if (tries < maxTries) await this.#pause(Math.min(maxPauseMs, retryAfterMs ?? firstPauseMs * 2 ** (tries - 1)), false)
    }
    this.#failed += batch.length
    if (!this.#isAway) this.#options.onAway?.(reason)
    this.#isAway = true
  }

  async #pause(ms: number, endsWhenFull: boolean): Promise<void> {
    if (this.#isClosing) return
    const ending = new AbortController()
    this.#pausing = { ending, endsWhenFull }
    await this.#options.wait(ms, ending.signal)
    this.#pausing = undefined
  }
}
