import type { UsageDays, UsageEntry, Use } from '../../contract/store.ts'
import type { GenerationRecord } from '../../contract/usage.ts'

const writeEveryMs = 5000

type LogOptions = {
  readonly days: UsageDays
  now(): number
  /** Unwritten usage is kept, and written with the next. */
  onFailure(error: unknown): void
}

const unused: Use = { requests: 0, inputTokens: 0, cachedInputTokens: 0, outputTokens: 0 }

const dayMs = 86_400_000

/** Sums the usage of callers, and writes it from time to time: no request waits for it. */
export class UsageLog {
  readonly #options: LogOptions
  /** By day, caller and model. */
  #waiting = new Map<string, UsageEntry>()
  #writing: Promise<void> = Promise.resolve()
  readonly #timer: NodeJS.Timeout
  #today = { number: -1, name: '' }

  constructor(options: LogOptions) {
    this.#options = options
    this.#timer = setInterval(() => void this.#write(), writeEveryMs).unref()
  }

  /** Adds an ended generation; one without usage was refused. Called for every request. */
  note({ caller, model, usage, batch }: Pick<GenerationRecord, 'caller' | 'model' | 'usage' | 'batch'>): void {
    if (usage === undefined) return
    const number = Math.floor(this.#options.now() / dayMs)
    if (number !== this.#today.number) {
      this.#today = { number, name: new Date(number * dayMs).toISOString().slice(0, 'yyyy-mm-dd'.length) }
    }
    const { inputTokens, cachedInputTokens, outputTokens } = usage
    const all = { requests: 1, inputTokens, cachedInputTokens, outputTokens }
    this.#add({ day: this.#today.name, caller, model, all, batch: batch === undefined ? unused : all })
  }

  /** Includes everything that this process has counted. Rejects with `store-unavailable`. */
  async read(wanted: Parameters<UsageDays['read']>[0]): Promise<readonly UsageEntry[]> {
    await this.#write()
    return this.#options.days.read(wanted)
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#write()
  }

  #add(entry: UsageEntry): void {
    const { day, caller, model, all, batch } = entry
    const key = `${day}\n${caller}\n${model}`
    const sum = this.#waiting.get(key)
    if (sum === undefined) this.#waiting.set(key, entry)
    else this.#waiting.set(key, { day, caller, model, all: sumOf(sum.all, all), batch: sumOf(sum.batch, batch) })
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

function sumOf(one: Use, other: Use): Use {
  return {
    requests: one.requests + other.requests,
    inputTokens: one.inputTokens + other.inputTokens,
    cachedInputTokens: one.cachedInputTokens + other.cachedInputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
  }
}
