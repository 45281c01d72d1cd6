import { JinjaError } from './jinja-error.ts'

/** The longest text or list a template may build: a multiplication is a cheap way to ask for all the memory. */
const maxLength = 1 << 26
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

/** Throws when something that is about to be made would be too long. */
export function checkLength(length: number): void {
  if (length > maxLength)
    throw new JinjaError(
      'budget',
      `the template makes a value of ${length} characters or items; at most ${maxLength} are allowed`,
    )
}
