import type { UsageDays, UsageEntry } from '../../contract/store.ts'
import type { GenerationRecord } from '../../contract/usage.ts'

const writeEveryMs = 5000

type LogOptions = {
  readonly days: UsageDays
  now(): number
  /** What is not written is kept, and written with the next. */
  onFailure(error: unknown): void
}

/** Sums what callers use, and writes it from time to time: no request waits for it. */
export class UsageLog {
  readonly #options: LogOptions
  #waiting = new Map<string, UsageEntry>()
  #writing: Promise<void> = Promise.resolve()
  readonly #timer: NodeJS.Timeout

  constructor(options: LogOptions) {
    this.#options = options
    this.#timer = setInterval(() => void this.#write(), writeEveryMs).unref()
  }

  /** A generation that has ended; one without a use was refused. */
  note({ caller, model, usage }: Pick<GenerationRecord, 'caller' | 'model' | 'usage'>): void {
    if (usage === undefined) return
    const day = new Date(this.#options.now()).toISOString().slice(0, 'yyyy-mm-dd'.length)
    const { inputTokens, cachedInputTokens, outputTokens } = usage
    this.#add({ day, caller, model, requests: 1, inputTokens, cachedInputTokens, outputTokens })
  }

  /** With all that this process has counted. Rejects with `store-unavailable`. */
  async read(wanted: Parameters<UsageDays['read']>[0]): Promise<readonly UsageEntry[]> {
    await this.#write()
    return this.#options.days.read(wanted)
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#write()
  }

  #add(entry: UsageEntry): void {
    const key = JSON.stringify([entry.day, entry.caller, entry.model])
    const known = this.#waiting.get(key)
    this.#waiting.set(key, known === undefined ? entry : sumOf(known, entry))
  }

  #write(): Promise<void> {
    this.#writing = this.#writing.then(async () => {
      const entries = [...this.#waiting.values()]
      if (entries.length === 0) return
      this.#waiting = new Map()
      try {
        await this.#options.days.add(entries)
      } catch (error) {
        for (const entry of entries) this.#add(entry)
        this.#options.onFailure(error)
      }
    })
    return this.#writing
  }
}

function sumOf(one: UsageEntry, other: UsageEntry): UsageEntry {
  return {
    ...one,
    requests: one.requests + other.requests,
    inputTokens: one.inputTokens + other.inputTokens,
    cachedInputTokens: one.cachedInputTokens + other.cachedInputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
  }
}
