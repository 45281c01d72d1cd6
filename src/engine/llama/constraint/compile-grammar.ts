import { compileProgram } from '../../../grammar/run/program.ts'
import { compileForRequest } from '../../../threads/grammar-failure.ts'
import type { ConstraintContext } from '../../constraint/auto-calls.ts'
import { compileConstraint, type Wanted } from '../../constraint/constraint.ts'
import { afterReasoning, type ReasoningFront } from '../../front/reasoning-grammar.ts'
import type { OutputPlan } from '../channel/ipc.ts'
import { shortHash } from '../channel/short-hash.ts'

/** A request's constraints, and what else their grammar depends on. */
export type GrammarRequest = {
  readonly wanted: Wanted
  readonly context: ConstraintContext
  readonly front: ReasoningFront
}

/** The grammar of an output, and how much of the wanted structure it enforces. */
export type CompiledGrammar = {
  readonly grammar: NonNullable<OutputPlan['grammar']>
  readonly structured: 'full' | 'partial' | undefined
}

/** Undefined for an output that is not constrained. Throws as `compileConstraint` does. */
export function compileGrammar({ wanted, context, front }: GrammarRequest): CompiledGrammar | undefined {
  const constraint = compileConstraint(wanted, context)
  if (constraint === undefined) return undefined
  const { isWhole, gbnf, structured } = constraint
  const { text, root } = isWhole === true ? { text: gbnf, root: 'root' } : afterReasoning(constraint, { ...context, front })
  const program = compileForRequest(() => compileProgram(text, root))
  const key = shortHash(`${root} ${text}`)
  return { grammar: { key, program, ...(isWhole === true && { isOpen: true as const }) }, structured }
}
