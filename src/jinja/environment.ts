import type { Call } from './arguments.ts'
import type { Rules } from './attributes.ts'
import { JinjaError } from './jinja-error.ts'
import type { Value } from './value.ts'

/** What filters and tests may ask of the template that runs. */
export type Environment = {
  readonly rules: Rules
  readonly filter: (name: string) => Filter
  readonly test: (name: string) => Test
}

export type Filter = (input: Value, call: Call, environment: Environment) => Value
export type Test = (input: Value, call: Call, environment: Environment) => boolean

/** Python gives up at about this many calls inside each other. */
const maxDepth = 200
const charactersPerStep = 8

/** Ends templates that would go on for ever: each step and each character made is paid for, and calls nest only so deep. */
export class Budget {
  #left: number
  #depth = 0

  constructor(steps: number) {
    this.#left = steps
  }

  spend(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) throw new JinjaError('budget', 'the template takes too long: it was stopped')
  }

  /** Pays for a text that was made, so that doubling one in a loop ends soon. */
  spendText(length: number): void {
    this.spend(Math.floor(length / charactersPerStep))
  }

  /** Runs the body of a macro or of a recursive loop. */
  nest<T>(work: () => T): T {
    if (this.#depth >= maxDepth) throw new JinjaError('budget', 'maximum recursion depth exceeded')
    this.#depth += 1
    try {
      return work()
    } finally {
      this.#depth -= 1
    }
  }
}
