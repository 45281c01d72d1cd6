type Entry = Readonly<Record<string, unknown>>

/**
 * The entry `request ended` for people: `POST /v1/messages 200 m 12+45 tokens 1.23 s`. `failure`: the failure, from an entry of its own.
 */
export function requestLine(entry: Entry, failure: string | undefined): string {
  const { method, route, path, status, model, inputTokens, outputTokens, durationMs, finishReason, key } = entry
  const tokens = typeof outputTokens === 'number' ? `${Number(inputTokens ?? 0)}+${outputTokens} tokens` : undefined
  // The usual reason is not shown.
  const end = finishReason === 'stop' ? undefined : finishReason
  const caller = key === undefined || key === 'anyone' ? undefined : `key ${key}`
  const parts = [method, route ?? path, status, failure, model, tokens, duration(Number(durationMs)), end, caller]
  return parts.filter((part) => part !== undefined).join(' ')
}

function duration(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`
}

/** The most failed requests that have not ended. */
const mostFailures = 100

/** Holds callers' errors until the line of their request shows them: one line per request. */
export class ShownFailures {
  readonly #codes = new Map<unknown, string>()

  /** Whether the entry is such an error, which needs no line of its own. */
  keep({ level, msg, requestId, code, param }: Entry): boolean {
    const isCallers = level === 30 && (msg === 'request failed' || msg === 'stream failed')
    if (!isCallers || requestId === undefined) return false
    const [oldest] = this.#codes.keys()
    if (this.#codes.size >= mostFailures) this.#codes.delete(oldest)
    this.#codes.set(requestId, `${code}${param === undefined ? '' : ` (${param})`}`)
    return true
  }

  take({ requestId }: Entry): string | undefined {
    const code = this.#codes.get(requestId)
    this.#codes.delete(requestId)
    return code
  }
}
