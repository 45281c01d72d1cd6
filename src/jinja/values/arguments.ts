import { runtimeError } from './jinja-error.ts'
import type { NamedArguments, Value } from './value.ts'

/** The arguments of a filter, test, method or macro. */
export type CallArguments = { readonly positional: readonly Value[]; readonly named: NamedArguments }

/**
 * Puts a call's arguments into the order of `parameters`, of which the first `required` must be given. Throws, as Python
 * does, for missing, surplus and unknown arguments.
 */
export function bindArguments<const T extends readonly string[]>(
  { positional, named }: CallArguments,
  { name, parameters, required = 0 }: { name: string; parameters: T; required?: number },
): { [K in keyof T]: Value | undefined } {
  if (positional.length > parameters.length) {
    throw runtimeError(`${name}() takes at most ${parameters.length} arguments (${positional.length} given)`)
  }
  const values: (Value | undefined)[] = parameters.map((_, index) => positional[index])
  for (const [key, value] of named) {
    const index = parameters.indexOf(key)
    if (index === -1) throw runtimeError(`${name}() got an unexpected keyword argument '${key}'`)
    if (index < positional.length) throw runtimeError(`${name}() got multiple values for argument '${key}'`)
    values[index] = value
  }
  const missing = parameters.slice(0, required).find((_, index) => values[index] === undefined)
  if (missing !== undefined) throw runtimeError(`${name}() missing required argument: '${missing}'`)
  return values as { [K in keyof T]: Value | undefined }
}
