import { AppError } from '../../core/errors.ts'
import { checkGbnf } from '../../core/grammar/check-gbnf.ts'
import { createGrammarBuilder } from '../../core/grammar/grammar-builder.ts'
import { createGrammarCache } from '../../core/grammar/grammar-cache.ts'
import type { GenerationRequest } from '../../core/request.ts'
import type { Profile } from './profiles.ts'

/** Fields of an upstream's request that bind the output, and how far they do. */
export type OutputFields = {
  readonly fields: Readonly<Record<string, unknown>>
  readonly structured?: 'full' | 'partial'
}

const cache = createGrammarCache()

/**
 * What the request wants of its output, in the server's words. A server that takes grammars gets ours: what its own compiler
 * makes of a caller's schema is not known, and llama.cpp's can be made to crash. Throws `invalid-request` and
 * `unsupported-field` with the request's own field.
 */
export function outputFields({ output, outputParam }: GenerationRequest, profile: Profile): OutputFields {
  const { gbnf, regex, jsonObject, jsonSchema, name } = profile
  const refuse = (what: string, param: string) => {
    throw new AppError('unsupported-field', `the server behind this model (${name}) takes no ${what}; leave it out`, { param })
  }
  switch (output.type) {
    case 'text':
      return { fields: {} }
    case 'gbnf': {
      const param = outputParam ?? 'grammar'
      checkGbnf(output.grammar, { param })
      if (gbnf === undefined) return refuse('grammars', param)
      return { fields: nested(gbnf, output.grammar), structured: 'full' }
    }
    case 'regex': {
      const param = outputParam ?? 'regex'
      if (usesOurGrammar(profile)) {
        const { grammar, enforcement } = cache.find(output, () => {
          const builder = createGrammarBuilder()
          return builder.build(builder.addRegex(output.pattern, { param }))
        })
        return { fields: nested(profile.gbnf, grammar), structured: enforcement }
      }
      if (regex === undefined) return refuse('regular expressions', param)
      // Whether its dialect of regular expressions is ours is not known.
      return { fields: nested(regex, output.pattern), structured: 'partial' }
    }
    case 'json-object':
      if (!jsonObject) return refuse('JSON mode', outputParam ?? 'response_format')
      if (usesOurGrammar(profile)) {
        const { grammar } = cache.find(output, () => {
          const builder = createGrammarBuilder()
          return builder.build(builder.addAnyObject())
        })
        return { fields: nested(profile.gbnf, grammar), structured: 'full' }
      }
      // How far the server keeps it, it does not tell.
      return { fields: { response_format: { type: 'json_object' } }, structured: 'partial' }
    case 'json-schema': {
      const { schema, strict, name: schemaName = 'output' } = output
      const param = outputParam ?? 'response_format'
      const compiled = cache.find([schema, strict, param], () => {
        const builder = createGrammarBuilder()
        return builder.build(builder.addSchema(schema, { strict, param, name: schemaName }))
      })
      if (usesOurGrammar(profile)) return { fields: nested(profile.gbnf, compiled.grammar), structured: compiled.enforcement }
      if (!jsonSchema) return refuse('JSON Schema', param)
      // Servers keep a part of JSON Schema that they do not tell.
      const format = { type: 'json_schema', json_schema: { name: schemaName, schema, strict: true } }
      return { fields: { response_format: format }, structured: 'partial' }
    }
  }
}

function usesOurGrammar(profile: Profile): profile is Profile & { readonly gbnf: NonNullable<Profile['gbnf']> } {
  return profile.takesOurGrammars === true && profile.gbnf !== undefined
}

function nested([first, ...rest]: readonly [string, ...string[]], value: unknown): Record<string, unknown> {
  const [next, ...others] = rest
  return { [first]: next === undefined ? value : nested([next, ...others], value) }
}
