import type { CharSet } from '../rules/char-set.ts'
import type { Expression } from '../rules/expression.ts'
import { parseGbnf } from '../rules/gbnf-syntax.ts'
import { tooLarge } from '../rules/grammar-error.ts'

/**
 * A grammar as numbers, which processes can send to each other: alternatives of elements, one after the other in `code`. An element is
 * a rule (its number), a set of characters (`-2 - set`) or the end of the alternative (-1).
 */
export type GrammarProgram = {
  readonly code: Int32Array
  /** For each rule, the index of its first alternative in `alternatives`; the last entry ends the last rule. */
  readonly rules: Int32Array
  /** The position of each alternative in `code`. */
  readonly alternatives: Int32Array
  /** For each set, the index of its first range in `ranges`; the last entry ends the last set. */
  readonly sets: Int32Array
  /** The first and the last code point of each range. */
  readonly ranges: Int32Array
  readonly root: number
}

export const endOfAlternative = -1

/** Repetitions are written out, so a short grammar can have many elements. */
const maxElements = 2_000_000

/** The program of a grammar that has been checked. Throws `grammar-too-large`. */
export function compileProgram(gbnf: string, root = 'root'): GrammarProgram {
  return new ProgramWriter(parseGbnf(gbnf)).write(root)
}

/** Groups and repetitions become rules of their own. */
class ProgramWriter {
  readonly #source: ReadonlyMap<string, Expression>
  readonly #names: Map<string, number>
  readonly #bodies: (readonly number[])[][]
  readonly #setNumbers = new Map<string, number>()
  readonly #sets: CharSet[] = []
  #size = 0

  constructor(source: ReadonlyMap<string, Expression>) {
    this.#source = source
    this.#names = new Map([...source.keys()].map((name, index) => [name, index]))
    this.#bodies = Array.from(source, () => [])
  }

  write(root: string): GrammarProgram {
    for (const [name, body] of this.#source) this.#bodies[this.#ruleOf(name)] = this.#alternatives(body)
    const alternatives: number[] = []
    const rules = [0]
    const code = new Int32Array(this.#bodies.flat().reduce((sum, way) => sum + way.length + 1, 0))
    let at = 0
    for (const ways of this.#bodies) {
      for (const way of ways) {
        alternatives.push(at)
        code.set(way, at)
        at += way.length
        code[at++] = endOfAlternative
      }
      rules.push(alternatives.length)
    }
    const starts = [0]
    for (const set of this.#sets) starts.push((starts.at(-1) ?? 0) + set.length)
    return {
      code,
      rules: Int32Array.from(rules),
      alternatives: Int32Array.from(alternatives),
      sets: Int32Array.from(starts),
      ranges: Int32Array.from(this.#sets.flat(2)),
      root: this.#ruleOf(root),
    }
  }

  #ruleOf(name: string): number {
    const number = this.#names.get(name)
    if (number === undefined) throw new Error(`the grammar has no rule '${name}'`)
    return number
  }

  #alternatives(body: Expression): (readonly number[])[] {
    return body.type === 'choice' ? body.options.flatMap((option) => this.#alternatives(option)) : [this.#elements(body)]
  }

  #elements(body: Expression): readonly number[] {
    switch (body.type) {
      case 'literal':
        return this.#counted(Array.from(body.text, (char) => this.#charsOf([[codeOf(char), codeOf(char)]])))
      case 'chars':
        return this.#counted([this.#charsOf(body.set)])
      case 'rule':
        return this.#counted([this.#ruleOf(body.name)])
      case 'sequence':
        return body.parts.flatMap((part) => this.#elements(part))
      case 'choice':
        return this.#counted([this.#addRule(this.#alternatives(body))])
      case 'repeat':
        return this.#repetition(body.part, body.min, body.max)
    }
  }

  #repetition(body: Expression, min: number, max: number | undefined): readonly number[] {
    const once = this.#elements(body)
    // A part of several elements becomes a rule, and copies are short.
    const part = once.length <= 1 || (min <= 1 && (max ?? 1) <= 1) ? once : [this.#addRule([once])]
    const fixed: number[] = []
    for (let count = 0; count < min; count++) fixed.push(...part)
    this.#counted(fixed)
    if (max === undefined) {
      const loop = this.#addRule([])
      this.#bodies[loop] = [[...part, loop], []]
      return [...fixed, loop]
    }
    let rest: readonly number[] = []
    for (let count = min; count < max; count++) rest = [this.#addRule([this.#counted([...part, ...rest]), []])]
    return [...fixed, ...rest]
  }

  #addRule(ways: (readonly number[])[]): number {
    this.#counted([0])
    return this.#bodies.push(ways) - 1
  }

  #charsOf(set: CharSet): number {
    const key = set.join(';')
    const known = this.#setNumbers.get(key) ?? this.#sets.length
    if (known === this.#sets.length) this.#sets.push(set)
    this.#setNumbers.set(key, known)
    return -2 - known
  }

  #counted(elements: readonly number[]): readonly number[] {
    this.#size += elements.length
    if (this.#size > maxElements) throw tooLarge(`a grammar that expands to more than ${maxElements} elements`)
    return elements
  }
}

function codeOf(char: string): number {
  return char.codePointAt(0) ?? 0
}
