import { AppError } from '../errors.ts'
import type { Automaton } from './automaton.ts'
import { hasChar } from './char-set.ts'
import { regexAutomaton } from './regex-automaton.ts'
import { parseRegex, type Regex } from './regex-syntax.ts'
import type { RuleBook } from './rule-book.ts'

/** What a state costs, to make it and to make it deterministic. */
export const effortPerState = 30

/** The automata of the patterns of one grammar, each made once. */
export class Patterns {
  readonly #book: RuleBook
  readonly #automata = new Map<string, Automaton | AppError>()
  readonly #regexes = new Map<string, Regex | AppError>()

  constructor(book: RuleBook) {
    this.#book = book
  }

  /** `undefined` when a grammar cannot express it. Throws `invalid-request` when it is no pattern. */
  parse(source: string): Regex | undefined {
    return find(this.#regexes, source, () => parseRegex(source))
  }

  /** `undefined` when no automaton of bearable size says the same. Throws `invalid-request` when it is no pattern. */
  find(source: string): Automaton | undefined {
    return find(this.#automata, source, () => {
      const automaton = regexAutomaton(source, this.#book.automatonLimit)
      this.#book.spend(automaton.length * effortPerState)
      return automaton
    })
  }

  /**
   * Whether the pattern is found in a text; `undefined` when it cannot be said. Never with `RegExp`: a caller's pattern could
   * keep it busy for years.
   */
  matches(source: string, text: string): boolean | undefined {
    const automaton = this.find(source)
    if (automaton === undefined) return undefined
    this.#book.spend(text.length * 2)
    let at = new Set([0])
    for (const char of text) {
      const code = char.codePointAt(0) ?? 0
      const edges = [...at].flatMap((state) => automaton[state]?.edges ?? [])
      at = new Set(edges.filter(({ set }) => hasChar(set, code)).map(({ to }) => to))
    }
    return [...at].some((state) => automaton[state]?.accepting === true)
  }
}

function find<T>(known: Map<string, T | AppError>, source: string, make: () => T): T | undefined {
  const found = known.get(source) ?? attempt(make)
  known.set(source, found)
  if (!(found instanceof AppError)) return found
  if (found.code === 'unsupported-field') return undefined
  throw found
}

function attempt<T>(make: () => T): T | AppError {
  try {
    return make()
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
}
