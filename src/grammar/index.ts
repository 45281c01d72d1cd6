// The public door of the package dragoman-grammar. Everything else may change without notice.
export { compileOutput, type GrammarRequest, type OutputStructure } from './compile-output.ts'
export { givenGrammar } from './given-grammar.ts'
export {
  type CompiledGrammar,
  createGrammarBuilder,
  type GbnfRule,
  type GrammarBuilder,
  type SchemaOptions,
  type Unenforced,
} from './grammar-builder.ts'
export { checkGbnf } from './rules/check-gbnf.ts'
export { GrammarError, type GrammarErrorKind } from './rules/grammar-error.ts'
export type { GrammarLimits } from './rules/limits.ts'
export { createGbnfMatcher } from './run/gbnf-matcher.ts'
export { type EffortMeter, GrammarMachine, type MachineState } from './run/machine.ts'
export { compileProgram, type GrammarProgram } from './run/program.ts'
export { createTextMatcher, type TextMatcher } from './run/text-matcher.ts'
export type { Schema, SchemaObject } from './schema/schema-document.ts'
export type { TaggedOutput } from './tagged-output.ts'
