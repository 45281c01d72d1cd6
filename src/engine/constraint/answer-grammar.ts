import { callableTools, enforcedTools, functionTools } from '../../canonical/callable-tools.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import { afterReasoning, type ReasoningFront } from '../front/reasoning-grammar.ts'
import type { ConstraintContext } from './auto-calls.ts'
import { compileConstraint, type Wanted } from './constraint.ts'

/** A request's constraints, and what else their grammar depends on. */
export type AnswerRequest = {
  readonly wanted: Wanted
  readonly context: ConstraintContext
  readonly front: ReasoningFront
}

/**
 * A grammar in GBNF for a whole answer, the name of its first rule, and how much of the wanted structure it enforces. `isOpen`: it
 * constrains only calls; the text between them is free.
 */
export type AnswerGrammar = {
  readonly text: string
  readonly root: string
  readonly structured: 'full' | 'partial' | undefined
  readonly isOpen: boolean
}

/** Undefined for an output that is not constrained. Throws as `compileConstraint` does. */
export function answerGrammar({ wanted, context, front }: AnswerRequest): AnswerGrammar | undefined {
  const constraint = compileConstraint(wanted, context)
  if (constraint === undefined) return undefined
  const { isWhole = false, gbnf, structured } = constraint
  const whole = isWhole ? { text: gbnf, root: 'root' } : afterReasoning(constraint, { ...context, front })
  return { ...whole, structured, isOpen: isWhole }
}

type Asked = Pick<GenerationRequest, 'prompt' | 'output' | 'toolChoice' | 'parallelToolCalls'>

/** The constraints of a request; undefined for none. `constrainsAllTools`: not only strict ones. */
export function wantedOf(
  { prompt, output, toolChoice, parallelToolCalls }: Asked,
  { constrainsAllTools = false }: { readonly constrainsAllTools?: boolean } = {},
): Wanted | undefined {
  const tools = prompt.type === 'chat' ? enforcedTools(functionTools(prompt.tools)) : []
  const wanted = { output, tools, toolChoice, parallelToolCalls, constrainsAllTools }
  if (output.type !== 'text' || toolChoice.type === 'required') return wanted
  return callableTools(tools, toolChoice).some(({ strict }) => strict === true || constrainsAllTools) ? wanted : undefined
}
