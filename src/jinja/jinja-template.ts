import type { Rules } from './attributes.ts'
import { Budget } from './budget.ts'
import type { Environment } from './environment.ts'
import { runTemplate } from './execute.ts'
import { filters } from './filters.ts'
import { fromJson } from './from-json.ts'
import { createGlobals } from './globals.ts'
import { JinjaError, runtimeError } from './jinja-error.ts'
import { parseTemplate } from './parse.ts'
import { Scope } from './scope.ts'
import { tests } from './tests.ts'

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
   * Renders with variables that are JSON. Throws a `JinjaError` where Python would raise, and one of kind `budget` after
   * `maxSteps`.
   */
  render(variables: Readonly<Record<string, unknown>>, maxSteps?: number): string
}

const known = { filters: new Set(filters.keys()), tests: new Set(tests.keys()) }
/** A prompt of a thousand messages takes up to three million steps. */
const defaultMaxSteps = 20_000_000

/**
 * Compiles a chat template as `transformers` does: jinja2 3.1 in its immutable sandbox, with `trim_blocks`, `lstrip_blocks`,
 * loop controls, `generation`, `tojson`, `raise_exception` and `strftime_now`. Throws a `JinjaError` if it does not parse.
 */
export function compileJinja(source: string, options: JinjaOptions = {}): JinjaTemplate {
  const { rules = 'transformers', now = () => new Date() } = options
  const { statements, names } = guarded(() => parseTemplate(source, known))
  const environment: Environment = {
    rules,
    filter: (name) => filters.get(name) ?? unknownName('filter', name),
    test: (name) => tests.get(name) ?? unknownName('test', name),
  }
  const globals = createGlobals(now)
  return {
    names,
    render: (variables, maxSteps = defaultMaxSteps) =>
      guarded(() => {
        const outer = new Scope()
        for (const [name, value] of globals) outer.set(name, value)
        for (const [name, value] of Object.entries(variables)) if (value !== undefined) outer.set(name, fromJson(value))
        return runTemplate(statements, new Scope(outer), { environment, budget: new Budget(maxSteps) })
      }),
  }
}

function unknownName(kind: 'filter' | 'test', name: string): never {
  throw runtimeError(`No ${kind} named '${name}' found.`)
}

/** Turns JavaScript's own errors, such as an exhausted stack, into a `JinjaError`. */
function guarded<T>(run: () => T): T {
  try {
    return run()
  } catch (error) {
    throw JinjaError.from(error)
  }
}
