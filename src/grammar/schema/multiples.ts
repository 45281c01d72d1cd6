import type { Automaton } from '../regex/automaton.ts'
import { automatonGrammar } from '../regex/automaton-grammar.ts'
import { charSet } from '../rules/char-set.ts'
import { chars, choice, type Expression, literal, never, optional, sequence } from '../rules/expression.ts'
import type { RuleBook } from '../rules/rule-book.ts'
import { type Bound, decimalParts, integerGrammar, type Range } from './number-grammar.ts'

/** Up to this many multiples are listed; more of them become an automaton over digits. */
const maxListed = 512
const maxSteps = 8
/** The largest step whose remainders become states. */
const maxStep = 64
/** Digits of whole numbers that are exact as doubles, so that validators see the number that is written. */
const maxDigits = 15

type Multiples = { readonly range: Range; readonly integer: boolean; readonly steps: readonly number[] }

/**
 * The grammar of multiples, narrower than an open range. `exact`: a validator that divides doubles agrees. Undefined where they
 * are too many.
 */
export function multiplesGrammar(
  book: RuleBook,
  { range, integer, steps }: Multiples,
): { readonly expression: Expression; readonly exact: boolean } | undefined {
  if (steps.length > maxSteps) return undefined
  const step = commonStep(integer ? [...steps, 1] : steps)
  const exact = (step.count * 1024n) % 10n ** BigInt(step.decimals) === 0n
  const first = range.min === undefined ? undefined : index(range.min, step)
  const last = range.max === undefined ? undefined : -index({ ...range.max, value: -range.max.value }, step)
  const expression =
    step.decimals > 0 && (first === undefined || last === undefined)
      ? wholesAndFractions(range, step)
      : choiceOf(signed(book, { first, last, step }))
  return expression === undefined ? undefined : { expression, exact }
}

/** `count` of the units of the last of `decimals` digits after the point. */
type Step = { readonly count: bigint; readonly decimals: number }

function commonStep(steps: readonly number[]): Step {
  const parts = steps.map((step) => decimalParts(step))
  const decimals = Math.max(...parts.map(([, fraction]) => fraction.length))
  const counts = parts.map(([whole, fraction]) => BigInt(`${whole}${fraction.padEnd(decimals, '0')}`))
  const count = counts.reduce((a, b) => (a / divisor(a, b)) * b)
  let [reduced, left] = [count, decimals]
  for (; left > 0 && reduced % 10n === 0n; left--) reduced /= 10n
  return { count: reduced, decimals: left }
}

function divisor(a: bigint, b: bigint): bigint {
  return b === 0n ? a : divisor(b, a % b)
}

/** The index of the first multiple at or above a bound. */
function index({ value, exclusive }: Bound, step: Step): bigint {
  const [whole, fraction] = decimalParts(Math.abs(value))
  const decimals = Math.max(fraction.length, step.decimals)
  const units = (value < 0 ? -1n : 1n) * BigInt(`${whole}${fraction.padEnd(decimals, '0')}`)
  const size = step.count * 10n ** BigInt(decimals - step.decimals)
  const down = units / size
  const isMultiple = units % size === 0n
  if (isMultiple) return exclusive ? down + 1n : down
  return units > 0n ? down + 1n : down
}

type Signed = { readonly first: bigint | undefined; readonly last: bigint | undefined; readonly step: Step }

function signed(book: RuleBook, { first, last, step }: Signed): readonly (Expression | undefined)[] {
  const options: (Expression | undefined)[] = []
  if (last === undefined || last >= 0n)
    options.push(upwards(book, first === undefined || first < 0n ? 0n : first, { last, step }))
  if (first === undefined || first < 0n) {
    const from = last === undefined || last > -1n ? 1n : -last
    const below = upwards(book, from, { last: first === undefined ? undefined : -first, step })
    options.push(below === undefined ? undefined : sequence(literal('-'), below))
  }
  return options
}

/** Undefined if one option is. */
function choiceOf(options: readonly (Expression | undefined)[]): Expression | undefined {
  const known = options.filter((option) => option !== undefined)
  return known.length < options.length ? undefined : choice(...known)
}

/** The multiples from `from` on, which is not negative. */
function upwards(
  book: RuleBook,
  from: bigint,
  { last, step }: { readonly last: bigint | undefined; readonly step: Step },
): Expression | undefined {
  if (last !== undefined) return listed(from, last, step)
  if (step.count > maxStep) return undefined
  const digits = (from * step.count).toString().length
  const short = listed(from, (10n ** BigInt(digits) - 1n) / step.count, step)
  if (short === undefined || digits >= maxDigits) return undefined
  return choice(short, longer(book, Number(step.count), digits))
}

function listed(from: bigint, to: bigint, step: Step): Expression | undefined {
  if (to - from >= BigInt(maxListed)) return undefined
  if (to < from) return never
  return choice(...Array.from({ length: Number(to - from) + 1 }, (_, offset) => literal(textOf(from + BigInt(offset), step))))
}

function textOf(multiple: bigint, { count, decimals }: Step): string {
  const digits = (multiple * count).toString().padStart(decimals + 1, '0')
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  const whole = digits.slice(0, digits.length - decimals)
  return decimals === 0 || fraction === '' ? whole : `${whole}.${fraction}`
}

/** Whole multiples of more than `digits` digits: a state is the number of digits and their remainder. */
function longer(book: RuleBook, step: number, digits: number): Expression {
  const states: { accepting: boolean; edges: Automaton[number]['edges'] }[] = [{ accepting: false, edges: edges(step, 0, 0) }]
  for (let length = 1; length <= maxDigits; length++) {
    for (let rest = 0; rest < step; rest++) {
      states.push({
        accepting: rest === 0 && length > digits,
        edges: length === maxDigits ? [] : edges(step, rest, length),
      })
    }
  }
  return automatonGrammar(book, states, { hint: 'multiple', spell: chars })
}

function edges(step: number, rest: number, length: number): Automaton[number]['edges'] {
  const digits = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].slice(length === 0 ? 1 : 0)
  return digits.map((digit) => ({
    set: charSet([0x30 + digit, 0x30 + digit]),
    to: 1 + length * step + ((rest * 10 + digit) % step),
  }))
}

/** Where 1 is a multiple, any whole number combines with any of the fractions. */
function wholesAndFractions({ min, max }: Range, { count, decimals }: Step): Expression | undefined {
  const unit = 10n ** BigInt(decimals)
  if (unit % count !== 0n || unit / count > 100n || max !== undefined || (min !== undefined && min.value < 0)) return undefined
  const wholes = integerGrammar({ min: min ?? { value: -1e12, exclusive: true }, max: { value: 1e12, exclusive: true } })
  const fractions = Array.from({ length: Number(unit / count) - 1 }, (_, offset) =>
    literal(textOf(BigInt(offset + 1), { count, decimals }).slice(1)),
  )
  return sequence(wholes, optional(choice(...fractions)))
}
