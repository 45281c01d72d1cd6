import { AppError } from '../../contract/errors.ts'

const maxDepth = 100

/** Throws `invalid-request` for JSON that is nested so deeply that recursive code would overflow the stack. */
export function refuseDeepJson(value: unknown, param: string): void {
  if (isWithin(value, maxDepth)) return
  throw new AppError('invalid-request', `${param} is nested too deeply: expected at most ${maxDepth} levels`, { param })
}

function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every((item) => isWithin(item, levels - 1))
}
