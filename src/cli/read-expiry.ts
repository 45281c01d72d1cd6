import { AppError } from '../contract/errors.ts'

const unitsMs: ReadonlyMap<string, number> = new Map([
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
])

/** The time in UTC that `30d`, `12h`, `90m`, a date or a time means. Throws `invalid-request`, also for one that has passed. */
export function readExpiry(text: string, nowMs: number): string {
  const [, number = '', unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? []
  const unitMs = unitsMs.get(unit)
  const endMs = unitMs === undefined ? parseDate(text) : nowMs + Number(number) * unitMs
  if (endMs === undefined) {
    throw new AppError('invalid-request', `--expires: '${text}' is not a time; write it as 30d, 12h, 90m or 2030-12-31`)
  }
  if (endMs <= nowMs) throw new AppError('invalid-request', `--expires: '${text}' has passed; give a later time`)
  return new Date(endMs).toISOString()
}

/** A date is its beginning in UTC. */
function parseDate(text: string): number | undefined {
  const time = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2})?(Z|[+-]\d{2}:\d{2}))?$/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(time) ? undefined : time
}
