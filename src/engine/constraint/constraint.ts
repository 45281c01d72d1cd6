import { callableTools } from '../../canonical/callable-tools.ts'
import { AppError } from '../../contract/errors.ts'
import { field } from '../../contract/field.ts'
import type { FunctionTool, OutputConstraint, ToolChoice } from '../../contract/request.ts'
import { addOutput, type OutputStructure } from '../../grammar/compile-output.ts'
import { givenGrammar } from '../../grammar/given-grammar.ts'
import { createGrammarBuilder, type GrammarBuilder } from '../../grammar/grammar-builder.ts'
import { findToolFormat } from '../../model-text/formats/tool-formats.ts'
import { compileForRequest, outputParam } from '../../threads/grammar-failure.ts'
import { textHeader } from '../front/text-header.ts'
import { type ConstraintContext, writeAutoCalls } from './auto-calls.ts'
import { addCalls } from './calls-grammar.ts'

/** The parts of a request that constrain its output. */
export type Wanted = {
  readonly output: OutputConstraint
  readonly tools: readonly FunctionTool[]
  readonly toolChoice: ToolChoice
  readonly parallelToolCalls: boolean
  /** With `tool_choice: auto`, calls are constrained by the schemas of all tools, not only of the strict ones. */
  readonly constrainsAllTools?: boolean
}

/**
 * A grammar for the output after reasoning; `header` is a fixed text in front of it. `structured`: how much of `output` it enforces.
 * `isWhole`: the grammar includes reasoning, and constrains only calls; the text between them is free.
 */
export type Constraint = {
  readonly gbnf: string
  readonly header?: string
  readonly structured?: 'full' | 'partial'
  readonly isWhole?: true
}

/**
 * The grammar of a request's output; `undefined` when it is not constrained. Throws `invalid-request` for an invalid constraint, and
 * `unsupported-field` for one that cannot be enforced.
 */
export function compileConstraint(wanted: Wanted, context: ConstraintContext): Constraint | undefined {
  return compileForRequest(() => compile(wanted, context))
}

function compile(wanted: Wanted, context: ConstraintContext): Constraint | undefined {
  const { output, toolChoice } = wanted
  // Required calls leave no text for `output` to constrain.
  if (toolChoice.type === 'required') return { gbnf: requiredCalls(wanted, context) }
  switch (output.type) {
    case 'text':
      return autoCalls(wanted, context)
    case 'gbnf':
      return {
        gbnf: givenGrammar(output.grammar, { param: field('output') }),
        structured: 'full',
        header: textHeader(context.format),
      }
    case 'json-object':
    case 'json-schema':
    case 'regex':
    case 'tagged': {
      const { grammar, enforcement } = compileOutputOrCalls(output, wanted, context)
      return { gbnf: grammar, structured: enforcement }
    }
  }
}

function requiredCalls(wanted: Wanted, context: ConstraintContext): string {
  const builder = createGrammarBuilder()
  const calls = addAllowedCalls(builder, wanted, context)
  if (calls !== undefined) return builder.build(calls).grammar
  const message = `${field('toolChoice')} requires a call, but this model's format of calls is unknown: set \`toolFormat\` in the model's configuration`
  throw new AppError('unsupported-field', message, { at: ['toolChoice'] })
}

/** Calls with `tool_choice: auto`: constrained where a tool is strict, or where the configuration constrains them all. */
function autoCalls(wanted: Wanted, context: ConstraintContext): Constraint | undefined {
  const tools = callableTools(wanted.tools, wanted.toolChoice)
  if (!tools.some(({ strict }) => strict === true || wanted.constrainsAllTools === true)) return undefined
  const { tools: declared, parallelToolCalls: parallel } = wanted
  const gbnf = writeAutoCalls({ tools, declared, parallel }, context)
  return gbnf === undefined ? undefined : { gbnf, isWhole: true }
}

/** The output, or calls instead if the request has callable tools. */
function compileOutputOrCalls(output: OutputStructure, wanted: Wanted, context: ConstraintContext) {
  const builder = createGrammarBuilder()
  const root = `${builder.literal(textHeader(context.format))} ${addOutput(builder, output, outputParam(output))}`
  // Built without the calls first: gaps in the tools' schemas do not affect the enforcement of the output.
  const { enforcement } = builder.build(root)
  const calls = addAllowedCalls(builder, wanted, context)
  return { grammar: builder.build(calls === undefined ? root : `${root} | ${calls}`).grammar, enforcement }
}

function addAllowedCalls(builder: GrammarBuilder, wanted: Wanted, { format, endTexts }: ConstraintContext): string | undefined {
  const { tools: declared, parallelToolCalls } = wanted
  const tools = callableTools(wanted.tools, wanted.toolChoice)
  const known = format?.toolFormat === undefined ? undefined : findToolFormat(format.toolFormat)
  if (known === undefined || tools.length === 0) return undefined
  const description = known.describeCalls(tools, { parallel: parallelToolCalls })
  return addCalls(builder, { description, tools: declared, endTexts })
}
