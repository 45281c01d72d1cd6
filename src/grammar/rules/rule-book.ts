import { type Expression, isEmpty, isNever, never, render, repeat, rule, sequence } from './expression.ts'
import { tooLarge } from './grammar-error.ts'
import type { AutomatonLimit, GrammarLimits } from './limits.ts'

/** Repetitions up to this many are written directly; llama.cpp refuses more than 2,000. */
const maxDirectRepetitions = 1000

/** The rules of one grammar under construction: names them, shares rules of equal bodies, and enforces the limits. */
export class RuleBook {
  readonly limits: GrammarLimits
  readonly #rules = new Map<string, Expression>()
  readonly #names = new Set<string>()
  readonly #nameByBody = new Map<string, string>()
  readonly #made = new Map<string, Expression>()
  readonly #texts = new Map<Expression, string>()
  readonly #nextNumber = new Map<string, number>()
  #chars = 0
  #effort = 0

  constructor(limits: GrammarLimits) {
    this.limits = limits
  }

  get automatonLimit(): AutomatonLimit {
    return { states: this.limits.automatonStates, spend: (effort) => this.spend(effort) }
  }

  get rules(): ReadonlyMap<string, Expression> {
    return this.#rules
  }

  /** The rule with this body: an existing one, or a new one named after `hint`. */
  shared(hint: string, body: Expression): Expression {
    if (body.type === 'rule' || isEmpty(body) || isNever(body)) return body
    const text = render(body)
    const known = this.#nameByBody.get(text)
    if (known !== undefined) return rule(known)
    const name = this.reserve(hint)
    this.#nameByBody.set(text, name)
    this.#write(name, body, text)
    return rule(name)
  }

  /** The rule of `key`, made by `make` at the first call. */
  once(key: string, make: () => Expression, hint = key): Expression {
    const known = this.#made.get(key)
    if (known !== undefined) return known
    const made = this.shared(hint, make())
    this.#made.set(key, made)
    return made
  }

  /** A name for a rule whose body comes later, with `fill`, so that it can refer to itself. */
  reserve(hint: string): string {
    const base = toRuleName(hint)
    let number = this.#nextNumber.get(base) ?? 0
    let name = number === 0 ? base : `${base}-${number}`
    while (this.#names.has(name)) name = `${base}-${++number}`
    this.#nextNumber.set(base, number + 1)
    this.#names.add(name)
    if (this.#names.size > this.limits.rules) throw tooLarge(`more than ${this.limits.rules} grammar rules`)
    return name
  }

  fill(name: string, body: Expression): void {
    this.#write(name, body, render(body))
  }

  /** Counts effort, in about microseconds. Throws past the limit. */
  spend(effort: number): void {
    this.#effort += effort
    if (this.#effort > this.limits.effort) throw tooLarge('too much work to turn into a grammar')
  }

  /** `part` between `min` and `max` times, for large numbers as well. */
  repeat(part: Expression, min: number, max?: number): Expression {
    const { repetitions } = this.limits
    if (min > repetitions) throw tooLarge(`a repetition of at least ${min}; the most is ${repetitions}`)
    if (max !== undefined && max < min) return never
    const bounded = max === undefined ? undefined : Math.min(max, repetitions)
    if (min <= maxDirectRepetitions && (bounded ?? 0) <= maxDirectRepetitions) {
      const many = min > 1 || (bounded ?? 0) > 1
      return repeat(many ? this.#atom(part) : part, min, bounded)
    }
    const atom = this.#atom(part)
    const blocks = this.#times(atom, min)
    if (bounded === undefined) return sequence(blocks, repeat(atom, 0))
    return sequence(blocks, this.#upTo(atom, bounded - min))
  }

  /** llama.cpp counts a repeated group once for each rule inside it, and a rule name once. */
  #atom(part: Expression): Expression {
    return part.type === 'chars' || (part.type === 'literal' && part.text.length === 1) ? part : this.shared('item', part)
  }

  #times(atom: Expression, count: number): Expression {
    if (count <= maxDirectRepetitions) return repeat(atom, count, count)
    const size = Math.ceil(Math.sqrt(count))
    const block = this.shared('block', repeat(atom, size, size))
    const times = Math.floor(count / size)
    return sequence(repeat(block, times, times), repeat(atom, count - times * size, count - times * size))
  }

  /** Whole blocks, then single ones: enough of them that every count is possible. */
  #upTo(atom: Expression, count: number): Expression {
    if (count <= maxDirectRepetitions) return repeat(atom, 0, count)
    const size = Math.ceil(Math.sqrt(count))
    const block = this.shared('block', repeat(atom, size, size))
    const times = Math.floor((count - (size - 1)) / size)
    return sequence(repeat(block, 0, times), repeat(atom, 0, count - times * size))
  }

  /** A body in GBNF. */
  textOf(body: Expression): string {
    return this.#texts.get(body) ?? render(body)
  }

  #write(name: string, body: Expression, text: string): void {
    this.#rules.set(name, body)
    this.#texts.set(body, text)
    this.#chars += name.length + text.length + 6
    if (this.#chars > this.limits.grammarChars) throw tooLarge(`a grammar of more than ${this.limits.grammarChars} characters`)
  }
}

/** Rule names of llama.cpp have letters, digits and hyphens. */
function toRuleName(hint: string): string {
  const name = hint
    .replace(/[^a-zA-Z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40)
  return name === '' ? 'r' : name
}
