import type { Rules } from '../operations/attributes.ts'
import type { Call } from '../values/arguments.ts'
import type { Value } from '../values/value.ts'

/** What filters and tests can look up while a template runs. */
export type Environment = {
  readonly rules: Rules
  readonly filter: (name: string) => Filter
  readonly test: (name: string) => Test
}

export type Filter = (input: Value, call: Call, environment: Environment) => Value
export type Test = (input: Value, call: Call, environment: Environment) => boolean
