import { sumDrafts, type Timings, type Usage } from '../../contract/usage.ts'

type Reported = { readonly usage: Usage; readonly timings: Timings; readonly servedBy?: string }

/** The usage of all turns of a reply: the prompt of the last one, the output of all. */
export class UsageSum {
  #usage: Usage = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 }
  #timings: Timings = {}
  #servedBy: string | undefined = undefined

  /** `startedMs`: from the arrival of the request to the start of the turn. */
  add({ usage, timings, servedBy }: Reported, startedMs: number): void {
    const before = this.#usage
    const drafts = [before.drafts, usage.drafts].filter((some) => some !== undefined)
    this.#usage = {
      inputTokens: usage.inputTokens,
      cachedInputTokens: usage.cachedInputTokens,
      ...(usage.cachedIn !== undefined && { cachedIn: usage.cachedIn }),
      outputTokens: before.outputTokens + usage.outputTokens,
      reasoningTokens: before.reasoningTokens + usage.reasoningTokens,
      ...(drafts.length > 0 && { drafts: sumDrafts(drafts.map(({ kinds }) => kinds)) }),
    }
    const both = [this.#timings, timings]
    const summed = (['queueMs', 'loadMs', 'templateMs', 'prefillMs', 'decodeMs'] as const).flatMap((name) => {
      const known = both.map((one) => one[name]).filter((ms) => ms !== undefined)
      return known.length === 0 ? [] : [[name, known.reduce((sum, ms) => sum + ms, 0)] as const]
    })
    const firstTokenMs =
      this.#timings.firstTokenMs ?? (timings.firstTokenMs === undefined ? undefined : startedMs + timings.firstTokenMs)
    this.#timings = { ...Object.fromEntries(summed), ...(firstTokenMs !== undefined && { firstTokenMs }) }
    this.#servedBy = servedBy ?? this.#servedBy
  }

  /** `totalMs`: from the arrival of the request until now. */
  event(totalMs: number) {
    const servedBy = this.#servedBy
    const timings = { ...this.#timings, totalMs }
    return { type: 'usage' as const, usage: this.#usage, timings, ...(servedBy !== undefined && { servedBy }) }
  }
}
