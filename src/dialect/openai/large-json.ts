import { AppError } from '../../contract/errors.ts'

const maxDepth = 100
/** More values than a schema or template variables contain: each costs time wherever it passes. */
const maxValues = 50_000

/** Throws `invalid-request` for JSON that nests too deeply for recursive code, or that is too large to process. */
export function refuseLargeJson(value: unknown, param: string): void {
  const size = { values: 0 }
  const isWithin = (item: unknown, levels: number): boolean => {
    if (++size.values > maxValues) throw invalid(param, `has more than ${maxValues} values: send fewer`)
    if (typeof item !== 'object' || item === null) return true
    if (levels === 0) return false
    for (const inner of Array.isArray(item) ? item : Object.values(item)) if (!isWithin(inner, levels - 1)) return false
    return true
  }
  if (!isWithin(value, maxDepth)) throw invalid(param, `is nested too deeply: expected at most ${maxDepth} levels`)
}

function invalid(param: string, problem: string): AppError {
  return new AppError('invalid-request', `${param} ${problem}`, { param })
}
