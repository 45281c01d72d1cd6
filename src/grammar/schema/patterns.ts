import type { Automaton } from '../regex/automaton.ts'
import { regexAutomaton } from '../regex/regex-automaton.ts'
import { parseRegex, type Regex } from '../regex/regex-syntax.ts'
import { hasChar } from '../rules/char-set.ts'
import type { Expression } from '../rules/expression.ts'
import { GrammarError, isUnsupported } from '../rules/grammar-error.ts'
import type { RuleBook } from '../rules/rule-book.ts'
import type { Facets, Gap } from './facets.ts'

/** The effort of building a state and making it deterministic. */
export const effortPerState = 30

/** The strings under some conditions, and the conditions that were left out. */
export type WrittenText = { readonly expression: Expression; readonly gaps: readonly Gap[] }

export class Patterns {
  readonly #book: RuleBook
  readonly #automata = new Map<string, Automaton | GrammarError>()
  readonly #regexes = new Map<string, Regex | GrammarError>()

  readonly #texts = new Map<string, WrittenText>()

  constructor(book: RuleBook) {
    this.#book = book
  }

  /** The parsed pattern; undefined if no grammar can express it. Throws when it is not a pattern. */
  parse(source: string): Regex | undefined {
    return find(this.#regexes, source, () => parseRegex(source))
  }

  /** The automaton of a pattern; undefined if it would be too large. Throws when it is not a pattern. */
  find(source: string): Automaton | undefined {
    return find(this.#automata, source, () => {
      const automaton = regexAutomaton(source, this.#book.automatonLimit)
      this.#book.spend(automaton.length * effortPerState)
      return automaton
    })
  }

  /**
   * The result of `write`, which is called once for all strings under the same conditions and the same `use`; only the paths
   * of the gaps differ.
   */
  writeOnce(use: string, text: Facets['text'], write: (text: Facets['text']) => WrittenText): WrittenText {
    const sources = text.patterns.map(({ source }) => source)
    const names = text.formats.map(({ name }) => name)
    const grammars = text.grammars.map(({ source }) => source)
    const key = JSON.stringify([use, text.min, text.max, sources, names, grammars])
    const conditions = [...text.patterns, ...text.formats, ...text.grammars]
    // The path of a gap is, until it is returned, the number of its condition.
    const numbered = <T extends object>(list: readonly T[], first: number) =>
      list.map((each, index) => ({ ...each, path: [String(first + index)] }))
    const numberedText = {
      ...text,
      patterns: numbered(text.patterns, 0),
      formats: numbered(text.formats, sources.length),
      grammars: numbered(text.grammars, sources.length + names.length),
    }
    const written = this.#texts.get(key) ?? write(numberedText)
    this.#texts.set(key, written)
    const gaps = written.gaps.map((gap) => ({ ...gap, path: conditions[Number(gap.path[0])]?.path ?? [] }))
    return { expression: written.expression, gaps }
  }

  /**
   * Whether a pattern is found in a text; undefined without an automaton. `RegExp` is not used: a caller's pattern could keep it busy for
   * years.
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
