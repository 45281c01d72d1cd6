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
/** Fields that are formatted separately, or not shown on a terminal. */
const silent = new Set(['level', 'time', 'pid', 'hostname', 'msg'])

/** Writes each log entry as one short line for a terminal: `12:30:01 info  model is ready model=m`. */
export function prettyDestination(stream: { write(text: string): unknown }): DestinationStream {
  return { write: (line) => void stream.write(`${printable(formatEntry(JSON.parse(line)))}\n`) }
}

function formatEntry(entry: Record<string, unknown>): string {
  const time = new Date(Number(entry.time)).toTimeString().slice(0, 8)
  const level = levels.get(Number(entry.level)) ?? String(entry.level)
  const facts = Object.entries(entry).filter(([key]) => !silent.has(key))
  const words = facts.map(([key, value]) => ` ${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
  return `${time} ${level.padEnd(5)} ${String(entry.msg ?? '')}${words.join('')}`
}
