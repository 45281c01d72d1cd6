import { compileProgram } from '../../../grammar/run/program.ts'
import { compileForRequest } from '../../../threads/grammar-failure.ts'
import { type AnswerRequest, answerGrammar } from '../../constraint/answer-grammar.ts'
import type { OutputPlan } from '../channel/ipc.ts'
import { shortHash } from '../channel/short-hash.ts'

/** The grammar of an output, and how much of the wanted structure it enforces. */
export type CompiledGrammar = {
  readonly grammar: NonNullable<OutputPlan['grammar']>
  readonly structured: 'full' | 'partial' | undefined
}

/** Undefined for an output that is not constrained. Throws as `compileConstraint` does. */
export function compileGrammar(request: AnswerRequest): CompiledGrammar | undefined {
  const answer = answerGrammar(request)
  if (answer === undefined) return undefined
  const { text, root, structured, isOpen } = answer
  const program = compileForRequest(() => compileProgram(text, root))
  const key = shortHash(`${root} ${text}`)
  return { grammar: { key, program, ...(isOpen && { isOpen }) }, structured }
}
