import { callableTools } from '../../../contract/callable-tools.ts'
import { AppError } from '../../../contract/errors.ts'
import { field } from '../../../contract/field.ts'
import type { FunctionTool, OutputConstraint, ToolChoice } from '../../../contract/request.ts'
import { checkGbnf } from '../../../grammar/check-gbnf.ts'
import { addOutput, type OutputStructure } from '../../../grammar/compile-output.ts'
import { type CompiledGrammar, createGrammarBuilder, type GrammarBuilder } from '../../../grammar/grammar-builder.ts'
import { createGrammarCache } from '../../../grammar/grammar-cache.ts'
import { findToolFormat } from '../../../model-text/formats/tool-formats.ts'
import { compileForRequest, outputParam } from '../../../threads/grammar-failure.ts'
import { type ConstraintContext, writeAutoCalls } from './auto-calls.ts'
import { addCalls } from './calls-grammar.ts'

/** What a request says about the text that it wants. */
export type Wanted = {
  readonly output: OutputConstraint
  readonly tools: readonly FunctionTool[]
  readonly toolChoice: ToolChoice
  readonly parallelToolCalls: boolean
  /** With `tool_choice: auto`, calls are constrained by the schemas of all tools, not only of the strict ones. */
  readonly bindsAllTools?: boolean
}

/**
 * A grammar for what comes after reasoning; `header` is a text in front of it. `structured` says how much of `output` it
 * makes certain. `isWhole`: it says itself where reasoning may be, and binds calls alone, between which all text is free.
 */
export type Constraint = {
  readonly gbnf: string
  readonly header?: string
  readonly structured?: 'full' | 'partial'
  readonly isWhole?: true
}

/** What begins the message to the user, in formats whose answers are rows of messages. */
const textHeaders: ReadonlyMap<string, string> = new Map([
  ['harmony', '<|channel|>final<|message|>'],
  ['glimmer', ' to=user<|message|>'],
])

const cache = createGrammarCache()

/**
 * What the request lets the model write, as a grammar; `undefined` when that is anything. Throws `invalid-request` for a
 * constraint that is wrong, and `unsupported-field` for one that cannot be kept.
 */
export function compileConstraint(wanted: Wanted, context: ConstraintContext): Constraint | undefined {
  return compileForRequest(() => compile(wanted, context))
}

function compile(wanted: Wanted, context: ConstraintContext): Constraint | undefined {
  const { output, toolChoice } = wanted
  // Beside required calls there is no text that `output` could constrain.
  if (toolChoice.type === 'required') return { gbnf: requiredCalls(wanted, context) }
  switch (output.type) {
    case 'text':
      return autoCalls(wanted, context)
    case 'gbnf':
      checkGbnf(output.grammar, { param: field('output') })
      return { gbnf: output.grammar, structured: 'full', header: textHeader(context) }
    case 'json-object':
    case 'json-schema':
    case 'regex': {
      const { grammar, enforcement } = cache.find(cacheKey(wanted, context), () => compileOutputOrCalls(output, wanted, context))
      return { gbnf: grammar, structured: enforcement }
    }
  }
}

function requiredCalls(wanted: Wanted, context: ConstraintContext): string {
  const { grammar } = cache.find(cacheKey(wanted, context), () => {
    const builder = createGrammarBuilder()
    const calls = addAllowedCalls(builder, wanted, context)
    if (calls !== undefined) return builder.build(calls)
    const message = `${field('toolChoice')} requires a call, but it is not known how this model writes calls: set \`toolFormat\` in the model's configuration`
    throw new AppError('unsupported-field', message, { at: ['toolChoice'] })
  })
  return grammar
}

/** Calls with `tool_choice: auto`: constrained where a tool is strict, or where the configuration constrains them all. */
function autoCalls(wanted: Wanted, context: ConstraintContext): Constraint | undefined {
  const tools = callableTools(wanted.tools, wanted.toolChoice)
  if (!tools.some(({ strict }) => strict === true || wanted.bindsAllTools === true)) return undefined
  const { grammar } = cache.find([cacheKey(wanted, context), context.format], () => {
    const { tools: declared, parallelToolCalls: parallel } = wanted
    return { grammar: writeAutoCalls({ tools, declared, parallel }, context) ?? '', enforcement: 'partial', unenforced: [] }
  })
  return grammar === '' ? undefined : { gbnf: grammar, isWhole: true }
}

/** All that a grammar is made of, and nothing that differs from request to request. */
function cacheKey({ output, tools, toolChoice, parallelToolCalls }: Wanted, { format, endTexts }: ConstraintContext): unknown {
  return [output, tools, toolChoice, parallelToolCalls, format?.toolFormat, endTexts]
}

/** The output, or calls instead of it where the model may choose to make some. */
function compileOutputOrCalls(output: OutputStructure, wanted: Wanted, context: ConstraintContext): CompiledGrammar {
  const builder = createGrammarBuilder()
  const root = `${builder.literal(textHeader(context))} ${addOutput(builder, output, outputParam(output))}`
  // What the tools' own schemas leave open says nothing about the output.
  const { enforcement, unenforced } = builder.build(root)
  const calls = addAllowedCalls(builder, wanted, context)
  return { grammar: builder.build(calls === undefined ? root : `${root} | ${calls}`).grammar, enforcement, unenforced }
}

function textHeader({ format }: ConstraintContext): string {
  return textHeaders.get(format?.toolFormat ?? '') ?? ''
}

function addAllowedCalls(builder: GrammarBuilder, wanted: Wanted, { format, endTexts }: ConstraintContext): string | undefined {
  const { tools: declared, parallelToolCalls } = wanted
  const tools = callableTools(wanted.tools, wanted.toolChoice)
  const known = format?.toolFormat === undefined ? undefined : findToolFormat(format.toolFormat)
  if (known === undefined || tools.length === 0) return undefined
  const description = known.describeCalls(tools, { parallel: parallelToolCalls })
  return addCalls(builder, { description, tools: declared, endTexts })
}
