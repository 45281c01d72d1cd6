import { runTemplate } from './execute.ts'
import type { Environment } from './filters/environment.ts'
import { filters } from './filters/filters.ts'
import { createGlobals } from './filters/globals.ts'
import { tests } from './filters/tests.ts'
import type { Rules } from './operations/attributes.ts'
import { Scope } from './scope.ts'
import { parseTemplate } from './syntax/parse.ts'
import { ForeignJson, fromJson } from './texts/from-json.ts'
import type { CallArguments } from './values/arguments.ts'
import { type Limits, spend, withLimits } from './values/budget.ts'
import { isForeign, plainText } from './values/foreign-text.ts'
import { spendItemsOf } from './values/iterate.ts'
import { JinjaError, runtimeError } from './values/jinja-error.ts'
import { toJson } from './values/print.ts'
import type { Value } from './values/value.ts'

export type JinjaOptions = {
  /** Default: `transformers`. */
  readonly rules?: Rules
  /** The clock of `strftime_now`. */
  readonly now?: () => Date
}

export type JinjaTemplate = {
  /** Every name that the template reads: variables and names it sets itself. */
  readonly names: ReadonlySet<string>
  /**
   * Renders with variables that are JSON. Throws a `JinjaError` where Python would raise, and one of kind `budget` beyond the
   * limits. The default limits grow with the variables.
   */
  render(variables: Readonly<Record<string, unknown>>, limits?: Limits): string
  /**
   * The values of these variables after a render, as JSON, as far as the template set them outside loops and macros; after a failed render,
   * those set before the failure. A value that JSON cannot hold is absent.
   */
  readAssigned(
    names: readonly string[],
    variables: Readonly<Record<string, unknown>>,
    limits?: Limits,
  ): Readonly<Record<string, unknown>>
}

const known = { filters: new Set(filters.keys()), tests: new Set(tests.keys()) }
/** No real template has a tenth of this. */
const maxSource = 1 << 18
/** A prompt of a thousand messages takes up to three million steps. */
const defaultLimits: Limits = { steps: 20_000_000, memory: 1 << 27 }
/** A template may copy each character of its variables some dozens of times. */
const perCharacter: Limits = { steps: 8, memory: 64 }

/**
 * Compiles a chat template as `transformers` does: jinja2 3.1 in its immutable sandbox, with `trim_blocks`, `lstrip_blocks`,
 * loop controls, `generation`, `tojson`, `raise_exception` and `strftime_now`. Throws a `JinjaError` if it does not parse.
 */
export function compileJinja(source: string, options: JinjaOptions = {}): JinjaTemplate {
  const { rules = 'transformers', now = () => new Date() } = options
  const { statements, names } = guarded(() => {
    if (source.length > maxSource)
      throw new JinjaError('budget', `the template has ${source.length} characters; at most ${maxSource} are allowed`)
    return parseTemplate(source, known)
  })
  const environment: Environment = {
    rules,
    filter: (name) => paying(filters.get(name) ?? unknownName('filter', name)),
    test: (name) => paying(tests.get(name) ?? unknownName('test', name)),
  }
  const globals = createGlobals(now)
  const scopeOf = (variables: Readonly<Record<string, unknown>>) => {
    const outer = new Scope()
    for (const [name, value] of globals) outer.set(name, value)
    for (const [name, value] of Object.entries(variables)) if (value !== undefined) outer.set(name, fromJson(value))
    return new Scope(outer)
  }
  return {
    names,
    render: (variables, limits = limitsFor(variables)) =>
      guarded(() => withLimits(limits, () => runTemplate(statements, scopeOf(variables), environment))),
    readAssigned(wanted, variables, limits = limitsFor(variables)) {
      const top = scopeOf(variables)
      try {
        withLimits(limits, () => runTemplate(statements, top, environment))
      } catch {
        // Assignments before the failure count.
      }
      const entries = wanted.map((name) => [name, jsonOf(top.own(name), limits)] as const)
      return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
    },
  }
}

const compactJson = {
  ensureAscii: false,
  indent: undefined,
  itemSeparator: ',',
  keySeparator: ':',
  sortKeys: false,
  streams: false,
} as const

function jsonOf(value: Value | undefined, limits: Limits): unknown {
  if (value === undefined) return undefined
  try {
    return withLimits(limits, () => JSON.parse(plainText(toJson(value, compactJson))))
  } catch {
    return undefined
  }
}

/** A filter or test that pays for reading what it is given. */
function paying<T>(work: (input: Value, call: CallArguments, environment: Environment) => T): typeof work {
  return (input, call, environment) => {
    spend(1)
    spendItemsOf(input)
    for (const argument of call.positional) spendItemsOf(argument)
    return work(input, call, environment)
  }
}

function unknownName(kind: 'filter' | 'test', name: string): never {
  throw runtimeError(`No ${kind} named '${name}' found.`)
}

function limitsFor(variables: unknown): Limits {
  const size = sizeOf(variables)
  return {
    steps: defaultLimits.steps + size * perCharacter.steps,
    memory: defaultLimits.memory + size * perCharacter.memory,
  }
}

/** The characters and members of data. */
function sizeOf(data: unknown): number {
  if (typeof data === 'string') return data.length
  if (data instanceof ForeignJson) return data.text.length
  if (typeof data !== 'object' || data === null) return 1
  let size = 1
  for (const [key, value] of Object.entries(data)) size += key.length + sizeOf(value)
  return size
}

/** Turns JavaScript's own errors, such as an exhausted stack, into a `JinjaError` whose message quotes no foreign text. */
function guarded<T>(run: () => T): T {
  try {
    return run()
  } catch (error) {
    const failure = JinjaError.from(error)
    if (!isForeign(failure.message)) throw failure
    throw new JinjaError(failure.kind, plainText(failure.message), { line: failure.line, cause: failure.cause })
  }
}
