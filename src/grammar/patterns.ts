import type { Automaton } from './automaton.ts'
import { hasChar } from './char-set.ts'
import type { Expression } from './expression.ts'
import type { Facets, Gap } from './facets.ts'
import { GrammarError, isUnsupported } from './grammar-error.ts'
import { regexAutomaton } from './regex-automaton.ts'
import { parseRegex, type Regex } from './regex-syntax.ts'
import type { RuleBook } from './rule-book.ts'

/** What a state costs, to make it and to make it deterministic. */
export const effortPerState = 30

/** The texts under some conditions, and the conditions that were left out. */
export type WrittenText = { readonly expression: Expression; readonly gaps: readonly Gap[] }

/** The automata of the patterns of one grammar, each made once. */
export class Patterns {
  readonly #book: RuleBook
  readonly #automata = new Map<string, Automaton | GrammarError>()
  readonly #regexes = new Map<string, Regex | GrammarError>()

  readonly #texts = new Map<string, WrittenText>()

  constructor(book: RuleBook) {
    this.#book = book
  }

  /** `undefined` when a grammar cannot express it. Throws a `GrammarError` when it is not a pattern. */
  parse(source: string): Regex | undefined {
    return find(this.#regexes, source, () => parseRegex(source))
  }

  /** `undefined` when no automaton of bearable size says the same. Throws a `GrammarError` when it is not a pattern. */
  find(source: string): Automaton | undefined {
    return find(this.#automata, source, () => {
      const automaton = regexAutomaton(source, this.#book.automatonLimit)
      this.#book.spend(automaton.length * effortPerState)
      return automaton
    })
  }

  /**
   * What `write` makes of the conditions of a text, once for all texts under the same ones: only where the gaps are differs.
   * `use` tells apart what is written for different uses.
   */
  writeOnce(use: string, text: Facets['text'], write: (text: Facets['text']) => WrittenText): WrittenText {
    const sources = text.patterns.map(({ source }) => source)
    const names = text.formats.map(({ name }) => name)
    const key = JSON.stringify([use, text.min, text.max, sources, names])
    const places = [...text.patterns, ...text.formats].map(({ path }) => path)
    // Gaps are kept under the number of the condition that they come from.
    const patterns = text.patterns.map((each, index) => ({ ...each, path: [String(index)] }))
    const formats = text.formats.map((each, index) => ({ ...each, path: [String(patterns.length + index)] }))
    const written = this.#texts.get(key) ?? write({ ...text, patterns, formats })
    this.#texts.set(key, written)
    const gaps = written.gaps.map((gap) => ({ ...gap, path: places[Number(gap.path[0])] ?? [] }))
    return { expression: written.expression, gaps }
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

function find<T>(known: Map<string, T | GrammarError>, source: string, make: () => T): T | undefined {
  const found = known.get(source) ?? attempt(make)
  known.set(source, found)
  if (!(found instanceof GrammarError)) return found
  if (isUnsupported(found)) return undefined
  throw found
}

function attempt<T>(make: () => T): T | GrammarError {
  try {
    return make()
  } catch (error) {
    if (error instanceof GrammarError) return error
    throw error
  }
}
