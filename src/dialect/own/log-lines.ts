import type { NumberedLine } from '../../contract/server/activity.ts'
import { type LogLine, logLevels } from './replies.ts'

export type LogLevel = (typeof logLevels)[number]

/** Fields that are the same on each line, and those that a line shows under other names. */
const silent = new Set(['level', 'time', 'pid', 'hostname', 'msg'])

/** A line of the log for the event stream; undefined below the level. */
export function encodeLine({ number, json }: NumberedLine, least: LogLevel): LogLine | undefined {
  const { level, time, msg, ...rest } = JSON.parse(json) as Record<string, unknown>
  const name = levelOf(Number(level))
  if (logLevels.indexOf(name) < logLevels.indexOf(least)) return undefined
  const facts = Object.fromEntries(Object.entries(rest).filter(([key]) => !silent.has(key)))
  return { number, at_ms: Number(time), level: name, message: String(msg ?? ''), facts }
}

/** Pino's levels are tens. */
function levelOf(level: number): LogLevel {
  return logLevels[Math.min(logLevels.length, Math.max(1, Math.round(level / 10))) - 1] ?? 'info'
}
