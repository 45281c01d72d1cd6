import { type CompiledGrammar, createGrammarBuilder, type SchemaOptions } from '../../../src/grammar/grammar-builder.ts'
import type { GrammarLimits } from '../../../src/grammar/rules/limits.ts'

/**
 * The grammar of a schema's JSON values. Pure, and bounded in time and size by the limits: safe to call with anything that came
 * in a request. Throws as `GrammarBuilder.addSchema` does.
 */
export function compileJsonSchema(
  schema: unknown,
  options: SchemaOptions = {},
  limits: Partial<GrammarLimits> = {},
): CompiledGrammar {
  const builder = createGrammarBuilder(limits)
  return builder.build(builder.addSchema(schema, options))
}

/** The grammar of any JSON object. */
export function compileJsonObject(limits: Partial<GrammarLimits> = {}): CompiledGrammar {
  const builder = createGrammarBuilder(limits)
  return builder.build(builder.addAnyObject())
}

/** The grammar of the texts that the whole of an ECMAScript regular expression matches. Throws for what a grammar cannot express. */
export function regexToGbnf(pattern: string, options: { readonly param?: string } = {}): CompiledGrammar {
  const builder = createGrammarBuilder()
  return builder.build(builder.addRegex(pattern, options))
}

/** A schema of objects. */
export const object = (properties: object, more: object = {}): object => ({ type: 'object', properties, ...more })
export const texts = { type: 'string' }
