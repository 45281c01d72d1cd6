import { JinjaError } from './jinja-error.ts'

/** The longest text or list a template may build: a multiplication is a cheap way to ask for all the memory. */
const maxLength = 1 << 26
/** Macros and recursive loops inside each other; Python gives up at about as many. */
const maxDepth = 200
const charactersPerStep = 8

/** The cost of one render. Every step and every character built counts, so that no template runs or grows without end. */
export class Budget {
  #left: number
  #depth = 0

  constructor(steps: number) {
    this.#left = steps
  }

  spend(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) throw new JinjaError('budget', 'the template takes too many steps: it was stopped')
  }

  /** Counts a text that was built, so that doubling one in a loop ends soon. */
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

/** Throws if a text or list about to be built would be too long. */
export function checkLength(length: number): void {
  if (length > maxLength)
    throw new JinjaError(
      'budget',
      `the template builds a value of ${length} characters or items; at most ${maxLength} are allowed`,
    )
}
