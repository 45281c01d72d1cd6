import type { DestinationStream } from 'pino'
import { printable } from './printable.ts'

const levels = new Map([
  [10, 'trace'],
  [20, 'debug'],
  [30, 'info'],
  [40, 'warn'],
  [50, 'error'],
  [60, 'fatal'],
])
/** The colours of entries that an operator must not overlook, as parameters of terminal sequences. */
const colours: Readonly<Record<string, string>> = { warn: '33', error: '31', fatal: '31' }
/** Fields that are formatted separately, or not shown on a terminal. */
const silent = new Set(['level', 'time', 'pid', 'hostname', 'msg'])
/** Entries with many fields show only these on a terminal, to fit its width; the JSON log has all. */
const brief: Readonly<Record<string, readonly string[]>> = {
  'model is ready': ['model', 'contextLength'],
  'abilities of the server': ['model', 'server', 'kind', 'version'],
}
/** Standard output already shows it, on the same terminal. */
const saidElsewhere = /^Server listening at /

/** Writes log entries as short lines for a terminal, `12:30:01 info  model is ready model=m`, coloured unless `NO_COLOR` is set. */
export function prettyDestination(stream: { write(text: string): unknown }): DestinationStream {
  const isPlain = (process.env.NO_COLOR ?? '') !== ''
  const paint = (text: string, colour = '') => (isPlain || colour === '' ? text : `\u001B[${colour}m${text}\u001B[39m`)
  const failures = new ShownFailures()
  return {
    write(line) {
      const entry: Record<string, unknown> = JSON.parse(line)
      const message = String(entry.msg ?? '')
      if (saidElsewhere.test(message) || failures.keep(entry)) return
      const isRequest = message === 'request ended'
      const text = isRequest ? requestLine(entry, failures.take(entry)) : `${message}${factsOf(entry, message)}`
      const time = new Date(Number(entry.time)).toTimeString().slice(0, 8)
      const level = levels.get(Number(entry.level)) ?? String(entry.level)
      stream.write(
        `${time} ${paint(level.padEnd(5), colours[level])} ${isRequest ? paint(printable(text), colourOf(entry.status)) : printable(text)}\n`,
      )
    },
  }
}

/** The colour of a request by its status: server errors, and refusals. */
function colourOf(status: unknown): string | undefined {
  if (Number(status) >= 500) return colours.error
  return Number(status) >= 400 ? colours.warn : undefined
}

function factsOf(entry: Record<string, unknown>, message: string): string {
  const shown = Object.hasOwn(brief, message) ? brief[message] : undefined
  const keys = shown?.filter((key) => entry[key] !== undefined) ?? Object.keys(entry).filter((key) => !silent.has(key))
  return keys.map((key) => ` ${key}=${typeof entry[key] === 'string' ? entry[key] : JSON.stringify(entry[key])}`).join('')
}

type Entry = Readonly<Record<string, unknown>>

/**
 * The entry `request ended` for people: `POST /v1/messages 200 m 12+45 tokens 1.23 s`. `failure`: the failure, from an entry of its own.
 */
function requestLine(entry: Entry, failure: string | undefined): string {
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
class ShownFailures {
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
