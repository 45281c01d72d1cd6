import type { DestinationStream } from 'pino'
import { printable } from './printable.ts'
import { requestLine, ShownFailures } from './request-line.ts'

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
