import { JinjaError } from './jinja-error.ts'

export type Limits = {
  /** Statements, expressions and items, and the characters that are read or written, eight for a step. */
  readonly steps: number
  /** Characters built, and items of lists and dictionaries, each as sixteen characters. Releasing a value gives nothing back. */
  readonly memory: number
}

/** The longest text a template may build, or list. */
const maxLength = 1 << 26
/** Macros and recursive loops inside each other; Python gives up at about as many. */
const maxDepth = 200
const charactersPerStep = 8
/** Native searches and copies are this much faster than steps. */
const scannedPerStep = 64
const charactersPerItem = 16

type Account = { steps: number; memory: number; depth: number }

const unlimited: Account = { steps: Number.POSITIVE_INFINITY, memory: Number.POSITIVE_INFINITY, depth: 0 }

/**
 * The account of the render that is running. A render is synchronous, so there is one; every operation pays into it, however deep, and
 * none can be called without. An operation pays before it allocates.
 */
let account = unlimited

/** Runs a render. What is lazy must be used up inside. */
export function withLimits<T>({ steps, memory }: Limits, render: () => T): T {
  const outer = account
  account = { steps, memory, depth: 0 }
  try {
    return render()
  } finally {
    account = outer
  }
}

export function spend(steps: number): void {
  account.steps -= steps
  if (account.steps < 0) throw new JinjaError('budget', 'the template takes too many steps: it was stopped')
}

/** Pays for a text that is read character by character. */
export function spendRead(length: number): void {
  spend(Math.floor(length / charactersPerStep))
}

/** Pays for a text that is searched or compared. */
export function spendScan(length: number): void {
  if (length >= scannedPerStep) spend(Math.floor(length / scannedPerStep))
}

/** Pays for the search of one text in another: at worst, most of the sought text is compared at each position. */
export function spendSearch(length: number, soughtLength: number): void {
  spendScan(length * Math.max(1, soughtLength >> 1))
}

/** Pays for a text whose characters are read one by one. */
export function spendCharacters(length: number): void {
  spend(length >> 1)
}

/** Pays for a text that is about to be built. */
export function spendText(length: number): void {
  checkLength(length)
  spend(Math.floor(length / charactersPerStep))
  takeMemory(length)
}

/** Pays for items that are about to be added to a list or dictionary. */
export function spendItems(count: number): void {
  checkLength(count)
  spend(count)
  takeMemory(count * charactersPerItem)
}

/** Runs the body of a macro or of a recursive loop. */
export function nest<T>(work: () => T): T {
  const own = account
  if (own.depth >= maxDepth) throw new JinjaError('budget', 'maximum recursion depth exceeded')
  own.depth += 1
  try {
    return work()
  } finally {
    own.depth -= 1
  }
}

function takeMemory(characters: number): void {
  account.memory -= characters
  if (account.memory < 0) throw new JinjaError('budget', 'the template builds too much text: it was stopped')
}

function checkLength(length: number): void {
  if (length <= maxLength) return
  const message = `the template builds a value of ${length} characters or items; at most ${maxLength} are allowed`
  throw new JinjaError('budget', message)
}
