import type { DestinationStream } from 'pino'

const levels = new Map([
  [10, 'trace'],
  [20, 'debug'],
  [30, 'info'],
  [40, 'warn'],
  [50, 'error'],
  [60, 'fatal'],
])
/** What every line has, and says nothing to a person at a terminal. */
const silent = new Set(['level', 'time', 'pid', 'hostname', 'msg', 'requestId'])

/** The log for a person at a terminal: one short line an entry, `12:30:01 info  model is ready model=m`. */
export function prettyDestination(stream: { write(text: string): unknown }): DestinationStream {
  return { write: (line) => void stream.write(`${formatEntry(JSON.parse(line))}\n`) }
}

export function formatEntry(entry: Record<string, unknown>): string {
  const time = new Date(Number(entry.time)).toTimeString().slice(0, 8)
  const level = levels.get(Number(entry.level)) ?? String(entry.level)
  const facts = Object.entries(entry).filter(([key]) => !silent.has(key))
  const words = facts.map(([key, value]) => ` ${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
  return `${time} ${level.padEnd(5)} ${String(entry.msg ?? '')}${words.join('')}`
}
