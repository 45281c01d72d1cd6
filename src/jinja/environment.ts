import type { Call } from './arguments.ts'
import type { Rules } from './attributes.ts'
import type { Value } from './value.ts'

/** What filters and tests can look up while a template runs. */
export type Environment = {
  readonly rules: Rules
  readonly filter: (name: string) => Filter
  readonly test: (name: string) => Test
}

export type Filter = (input: Value, call: Call, environment: Environment) => Value
export type Test = (input: Value, call: Call, environment: Environment) => boolean
