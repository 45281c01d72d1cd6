import { isDeepStrictEqual } from 'node:util'
import { AppError } from '../../contract/errors.ts'
import { preview } from '../wire/preview.ts'

type Spelled<Name, Value> = { readonly name: Name; readonly value: Value }

export const stopSpellings = ['stop', 'stop_sequence', 'stopping_strings'] as const

/**
 * The value of a field with several spellings, or undefined. Throws `invalid-request` for two different values; `path`: the prefix of the
 * fields, such as `messages[0].`.
 */
export function pickSpelling<Wire extends object, Name extends keyof Wire & string>(
  wire: Wire,
  names: readonly Name[],
  path = '',
): NonNullable<Wire[Name]> | undefined {
  return pickSpelled(wire, names, path)?.value
}

/** As `pickSpelling`, with the spelling in the request, for errors about the value. */
export function pickSpelled<Wire extends object, Name extends keyof Wire & string>(
  wire: Wire,
  names: readonly Name[],
  path = '',
): Spelled<Name, NonNullable<Wire[Name]>> | undefined {
  let chosen: Spelled<Name, NonNullable<Wire[Name]>> | undefined
  for (const name of names) {
    const value = wire[name]
    if (value === undefined || value === null) continue
    if (chosen !== undefined && !isSame(chosen.value, value)) {
      throw new AppError(
        'invalid-request',
        `${path}${chosen.name} and ${path}${name} are the same field, with different values ` +
          `${preview(chosen.value)} and ${preview(value)}: send one of them`,
        { param: `${path}${name}` },
      )
    }
    chosen ??= { name, value }
  }
  return chosen
}

/** Whether two values are deeply equal; false for values that nest too deeply to compare. */
export function isSame(first: unknown, second: unknown): boolean {
  try {
    return isDeepStrictEqual(first, second)
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}
