import { type Expression, isEmpty, isNever, never, render, repeat, rule, sequence } from './expression.ts'
import { tooLarge } from './grammar-error.ts'
import type { AutomatonLimit, GrammarLimits } from './limits.ts'

/** Repetitions up to this many are written as they are; llama.cpp refuses more than 2,000 of anything. */
const plainRepetitions = 1000

/** The rules of one grammar while it is made: names them, lets equal bodies share a rule, and stops at the limits. */
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

  /** What one automaton of this grammar may cost. */
  get automatonLimit(): AutomatonLimit {
    return { states: this.limits.automatonStates, spend: (effort) => this.spend(effort) }
  }

  get rules(): ReadonlyMap<string, Expression> {
    return this.#rules
  }

  /** A rule with this body: one that is there already, or a new one whose name is made from `hint`. */
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

  /** What `make` gives, as a rule that is made once in this grammar. */
  once(key: string, make: () => Expression, hint = key): Expression {
    const known = this.#made.get(key)
    if (known !== undefined) return known
    const made = this.shared(hint, make())
    this.#made.set(key, made)
    return made
  }

  /** A name for a rule whose body comes later, with `fill`: that is how a rule can refer to itself. */
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

  /** Counts effort, in about microseconds, and stops when it is too much. */
  spend(effort: number): void {
    this.#effort += effort
    if (this.#effort > this.limits.effort) throw tooLarge('too much work to turn into a grammar')
  }

  /** `part` between `min` and `max` times, however large the numbers are. */
  repeat(part: Expression, min: number, max?: number): Expression {
    const { repetitions } = this.limits
    if (min > repetitions) throw tooLarge(`a repetition of at least ${min}; the most is ${repetitions}`)
    if (max !== undefined && max < min) return never
    const most = max === undefined ? undefined : Math.min(max, repetitions)
    if (min <= plainRepetitions && (most ?? 0) <= plainRepetitions) {
      const many = min > 1 || (most ?? 0) > 1
      return repeat(many ? this.#atom(part) : part, min, most)
    }
    const atom = this.#atom(part)
    const blocks = this.#times(atom, min)
    if (most === undefined) return sequence(blocks, repeat(atom, 0))
    return sequence(blocks, this.#upTo(atom, most - min))
  }

  /** In llama.cpp a repeated group counts once for each rule inside it: a name counts once in all. */
  #atom(part: Expression): Expression {
    return part.type === 'chars' || (part.type === 'literal' && part.text.length === 1) ? part : this.shared('item', part)
  }

  #times(atom: Expression, count: number): Expression {
    if (count <= plainRepetitions) return repeat(atom, count, count)
    const size = Math.ceil(Math.sqrt(count))
    const block = this.shared('block', repeat(atom, size, size))
    const times = Math.floor(count / size)
    return sequence(repeat(block, times, times), repeat(atom, count - times * size, count - times * size))
  }

  /** Whole blocks, then singles: as many singles as are needed for every count to be possible. */
  #upTo(atom: Expression, count: number): Expression {
    if (count <= plainRepetitions) return repeat(atom, 0, count)
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

/** llama.cpp knows letters, digits and hyphens in names. */
function toRuleName(hint: string): string {
  const name = hint
    .replace(/[^a-zA-Z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40)
  return name === '' ? 'r' : name
}
