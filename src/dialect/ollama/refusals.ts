import { AppError } from '../../contract/errors.ts'
import { type FieldIndex, refuseValue } from '../wire/field-table.ts'

/** What a check throws, as a list of none or one. */
export function refusalOf(check: () => void): readonly AppError[] {
  try {
    check()
    return []
  } catch (error) {
    return [AppError.from(error)]
  }
}

/** The unknown keys at the top of a body, and each refusal. */
export function checkTop(index: FieldIndex, wire: object): { readonly ignored: string[]; readonly refusals: AppError[] } {
  const ignored: string[] = []
  const refusals: AppError[] = []
  for (const [name, value] of Object.entries(wire)) {
    const field = index.get(name)
    if (field !== undefined) refusals.push(...refusalOf(() => refuseValue(field, name, value)))
    else if (value !== null) ignored.push(name)
  }
  return { ignored, refusals }
}

/** Throws all refusals of a body as one error, so that a caller need not find them one by one. */
export function refuseAll(refusals: readonly AppError[]): void {
  const [first, ...others] = refusals
  if (first === undefined) return
  if (others.length === 0) throw first
  throw new AppError(first.code, refusals.map(({ message }) => message).join('; '), {
    ...(first.param !== undefined && { param: first.param }),
  })
}
