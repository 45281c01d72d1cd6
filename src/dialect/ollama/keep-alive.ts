import { z } from 'zod'
import type { KeepLoaded } from '../../contract/dialect.ts'

const unitsMs: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1, us: 1e-3, µs: 1e-3, ns: 1e-6 }
const step = /(\d+(?:\.\d*)?|\.\d+)(ms|us|µs|ns|h|m|s)/g
const duration = /^[+-]?(?:\d+(?:\.\d*)?|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ms|us|µs|ns|h|m|s)){1,8})$/

const expected = { error: 'seconds, or a duration such as "5m", "-1s" or "0"' }

/** Seconds, which some clients send as a text, or a duration as Go writes it: `5m`, `1h30m`, `-1s`, `0`. */
export const keepAlive = z.union([z.number(), z.string().max(64, expected).regex(duration, expected)], expected).nullish()

/** How long a model stays loaded after a request: `Infinity` below 0; undefined if the request does not say. */
export function readKeepAlive(value: z.output<typeof keepAlive>): number | undefined {
  if (value === undefined || value === null) return undefined
  const ms = typeof value === 'number' ? value * 1000 : toMs(value)
  return ms < 0 ? Number.POSITIVE_INFINITY : ms
}

/** A request's wish for how long its model stays loaded. */
export function keepLoadedBy(value: z.output<typeof keepAlive>): KeepLoaded | undefined {
  const ms = readKeepAlive(value)
  return ms === undefined ? undefined : { ms, field: 'keep_alive' }
}

function toMs(text: string): number {
  if (!/[a-zµ]$/.test(text)) return Number(text) * 1000
  const sum = [...text.matchAll(step)].reduce((total, [, count, unit = '']) => total + Number(count) * (unitsMs[unit] ?? 0), 0)
  return text.startsWith('-') ? -sum : sum
}
