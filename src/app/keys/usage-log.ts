import type { UsageDays, UsageEntry } from '../../contract/store.ts'
import type { GenerationRecord } from '../../contract/usage.ts'

const writeEveryMs = 5000

type LogOptions = {
  readonly days: UsageDays
  now(): number
  /** Unwritten usage is kept, and written with the next. */
  onFailure(error: unknown): void
}

type Sum = { -readonly [Field in keyof UsageEntry]: UsageEntry[Field] }

const dayMs = 86_400_000

/** Sums the usage of callers, and writes it from time to time: no request waits for it. */
export class UsageLog {
  readonly #options: LogOptions
  /** By day, caller and model. */
  #waiting = new Map<string, Sum>()
  #writing: Promise<void> = Promise.resolve()
  readonly #timer: NodeJS.Timeout
  #today = { number: -1, name: '' }

  constructor(options: LogOptions) {
    this.#options = options
    this.#timer = setInterval(() => void this.#write(), writeEveryMs).unref()
  }

  /** Adds an ended generation; one without usage was refused. Called for every request. */
  note({ caller, model, usage }: Pick<GenerationRecord, 'caller' | 'model' | 'usage'>): void {
    if (usage === undefined) return
    const number = Math.floor(this.#options.now() / dayMs)
    if (number !== this.#today.number) {
      this.#today = { number, name: new Date(number * dayMs).toISOString().slice(0, 'yyyy-mm-dd'.length) }
    }
    const { inputTokens, cachedInputTokens, outputTokens } = usage
    this.#add({ day: this.#today.name, caller, model, requests: 1, inputTokens, cachedInputTokens, outputTokens })
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
    const key = `${entry.day}\n${entry.caller}\n${entry.model}`
    const sum = this.#waiting.get(key)
    if (sum === undefined) {
      this.#waiting.set(key, { ...entry })
      return
    }
    sum.requests += entry.requests
    sum.inputTokens += entry.inputTokens
    sum.cachedInputTokens += entry.cachedInputTokens
    sum.outputTokens += entry.outputTokens
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
