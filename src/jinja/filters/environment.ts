import type { Rules } from '../operations/attributes.ts'
import type { CallArguments } from '../values/arguments.ts'
import type { Value } from '../values/value.ts'

/** What filters and tests can look up while a template runs. */
export type Environment = {
  readonly rules: Rules
  readonly filter: (name: string) => Filter
  readonly test: (name: string) => Test
}

export type Filter = (input: Value, call: CallArguments, environment: Environment) => Value
export type Test = (input: Value, call: CallArguments, environment: Environment) => boolean
