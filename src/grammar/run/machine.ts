import { GrammarError } from '../rules/grammar-error.ts'
import { endOfAlternative, type GrammarProgram } from './program.ts'

/** What is still to come: the element at a position of the program, then `next`. Equal ones are the same object. */
type Rest = {
  readonly id: number
  readonly position: number
  readonly next: Rest | undefined
  readonly before: Map<number, Rest>
}

/** The work that a walk may still do, in steps of some ten nanoseconds. */
export type EffortMeter = { left: number }

/** All ways to continue after some text. Equal ones of a machine are the same object. */
export type MachineState = {
  /** Each begins with a set of characters. */
  readonly ways: readonly Rest[]
  /** The text may end here. */
  readonly isComplete: boolean
  moves: Moves | undefined
}

/** The moves of a state: characters that the same ways allow lead to the same state. */
type Moves = { readonly ascii: Int32Array; readonly groups: Group[]; readonly numbers: Map<string, number> }
type Group = { readonly ways: readonly number[]; target: MachineState | undefined }

/** Ambiguous grammars keep many ways; some would double them with every character. */
const maxWays = 16_384
/** Above this many, a machine is replaced. */
const maxRests = 400_000
const effortPerExpansion = 12

/**
 * Runs a grammar: reads a text character by character, with all ways to read it side by side. States and moves are made at their first
 * use and kept. All work is metered: a walk that needs more than its meter allows throws `grammar-too-large`.
 */
export class GrammarMachine {
  readonly #program: GrammarProgram
  readonly #roots = new Map<number, Rest>()
  readonly #states = new Map<string, MachineState>()
  #rests = 0

  constructor(program: GrammarProgram) {
    this.#program = program
  }

  /** Whether it has used its memory: a new machine adopts the states that are in use. */
  get isFull(): boolean {
    return this.#rests > maxRests
  }

  start(meter: EffortMeter): MachineState {
    return this.#expand(this.#alternativesOf(this.#program.root, undefined), meter)
  }

  /** The state after one more character; undefined where no way allows it. */
  step(state: MachineState, code: number, meter: EffortMeter): MachineState | undefined {
    state.moves ??= this.#movesOf(state, meter)
    const { ascii, groups } = state.moves
    const number = code < 128 ? (ascii[code] as number) : this.#groupOf(state, state.moves, code, meter)
    const group = groups[number]
    if (group === undefined) return undefined
    group.target ??= this.#follow(state, group.ways, meter)
    return group.target
  }

  /** Whether a character between these bounds is allowed. */
  allowsAnyOf(state: MachineState, [low, high]: readonly [number, number], meter: EffortMeter): boolean {
    spend(meter, state.ways.length)
    const { sets, ranges } = this.#program
    return state.ways.some((way) => {
      const set = this.#setOf(way)
      for (let at = sets[set] as number; at < (sets[set + 1] as number); at++) {
        if ((ranges[2 * at] as number) <= high && (ranges[2 * at + 1] as number) >= low) return true
      }
      return false
    })
  }

  /** The only character that can follow; undefined where there are several, and where the text may end. */
  onlyNext({ ways, isComplete }: MachineState, meter: EffortMeter): number | undefined {
    if (isComplete) return undefined
    const { sets, ranges } = this.#program
    let only: number | undefined
    for (const way of ways) {
      spend(meter, 1)
      const set = this.#setOf(way)
      const at = 2 * (sets[set] as number)
      const code = ranges[at] as number
      if (sets[set + 1] !== at / 2 + 1 || ranges[at + 1] !== code || code !== (only ?? code)) return undefined
      only = code
    }
    return only
  }

  /** The same state in this machine. */
  adopt(state: MachineState, meter: EffortMeter): MachineState {
    const ways = state.ways.map((way) => {
      const positions: number[] = []
      for (let rest: Rest | undefined = way; rest !== undefined; rest = rest.next) positions.push(rest.position)
      spend(meter, positions.length)
      return positions.reduceRight<Rest | undefined>((next, position) => this.#rest(position, next), undefined)
    })
    return this.#expand(state.isComplete ? [...ways, undefined] : ways, meter)
  }

  #movesOf({ ways }: MachineState, meter: EffortMeter): Moves {
    const { sets, ranges } = this.#program
    const allowed = new Map<number, number[]>()
    for (const [index, way] of ways.entries()) {
      const set = this.#setOf(way)
      for (let at = sets[set] as number; at < (sets[set + 1] as number); at++) {
        const last = Math.min(127, ranges[2 * at + 1] as number)
        for (let code = ranges[2 * at] as number; code <= last; code++) {
          const others = allowed.get(code)
          if (others === undefined) allowed.set(code, [index])
          else others.push(index)
          spend(meter, 2)
        }
      }
    }
    const moves: Moves = { ascii: new Int32Array(128).fill(-1), groups: [], numbers: new Map() }
    for (const [code, indexes] of allowed) moves.ascii[code] = numberOf(moves, indexes)
    return moves
  }

  #groupOf({ ways }: MachineState, moves: Moves, code: number, meter: EffortMeter): number {
    const found: number[] = []
    spend(meter, ways.length)
    for (const [index, way] of ways.entries()) if (this.#has(this.#setOf(way), code)) found.push(index)
    return found.length === 0 ? -1 : numberOf(moves, found)
  }

  #follow({ ways }: MachineState, indexes: readonly number[], meter: EffortMeter): MachineState {
    return this.#expand(
      indexes.map((index) => {
        const { position, next } = ways[index] as Rest
        return this.#rest(position + 1, next)
      }),
      meter,
    )
  }

  /** Replaces rules by their alternatives, until every way begins with a character. */
  #expand(starts: readonly (Rest | undefined)[], meter: EffortMeter): MachineState {
    const seen = new Set<Rest>()
    const ways: Rest[] = []
    let isComplete = false
    const todo = [...starts]
    while (todo.length > 0) {
      const rest = todo.pop()
      if (rest === undefined) {
        isComplete = true
        continue
      }
      if (seen.has(rest)) continue
      seen.add(rest)
      spend(meter, effortPerExpansion)
      const element = this.#program.code[rest.position] as number
      if (element < endOfAlternative) ways.push(rest)
      else for (const way of this.#alternativesOf(element, this.#rest(rest.position + 1, rest.next))) todo.push(way)
      if (seen.size > maxWays * 4 || ways.length > maxWays) throw tooManyWays()
    }
    ways.sort((a, b) => a.id - b.id)
    const key = `${isComplete ? '.' : ''}${ways.map(({ id }) => id).join()}`
    const known = this.#states.get(key) ?? { ways, isComplete, moves: undefined }
    this.#states.set(key, known)
    return known
  }

  #alternativesOf(rule: number, next: Rest | undefined): (Rest | undefined)[] {
    const { rules, alternatives } = this.#program
    const ways: (Rest | undefined)[] = []
    for (let at = rules[rule] as number; at < (rules[rule + 1] as number); at++) {
      ways.push(this.#rest(alternatives[at] as number, next))
    }
    return ways
  }

  #rest(position: number, next: Rest | undefined): Rest | undefined {
    if (this.#program.code[position] === endOfAlternative) return next
    const among = next === undefined ? this.#roots : next.before
    const known = among.get(position)
    if (known !== undefined) return known
    const rest: Rest = { id: this.#rests++, position, next, before: new Map() }
    among.set(position, rest)
    return rest
  }

  #setOf({ position }: Rest): number {
    return -2 - (this.#program.code[position] as number)
  }

  #has(set: number, code: number): boolean {
    const { sets, ranges } = this.#program
    let from = sets[set] as number
    let to = (sets[set + 1] as number) - 1
    while (from <= to) {
      const middle = (from + to) >> 1
      if (code < (ranges[2 * middle] as number)) to = middle - 1
      else if (code > (ranges[2 * middle + 1] as number)) from = middle + 1
      else return true
    }
    return false
  }
}

function numberOf({ groups, numbers }: Moves, ways: readonly number[]): number {
  const key = ways.join()
  const known = numbers.get(key)
  if (known !== undefined) return known
  numbers.set(key, groups.length)
  return groups.push({ ways, target: undefined }) - 1
}

/** Takes from the meter; throws when it is empty. */
export function spend(meter: EffortMeter, effort: number): void {
  meter.left -= effort
  if (meter.left < 0) {
    throw new GrammarError('grammar-too-large', 'the output constraint needs too much work for each token; make it simpler')
  }
}

function tooManyWays(): GrammarError {
  const message = `the output constraint leaves more than ${maxWays} ways to read the same output; make it less ambiguous`
  return new GrammarError('grammar-too-large', message)
}
