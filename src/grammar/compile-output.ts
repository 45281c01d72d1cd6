import type { OutputConstraint } from '../contract/request.ts'
import { type CompiledGrammar, createGrammarBuilder } from './grammar-builder.ts'

/** A constraint on the output that a grammar can be made of, and the request's field that holds it. */
export type GrammarQuestion = {
  readonly output: Extract<OutputConstraint, { type: 'regex' | 'json-object' | 'json-schema' }>
  readonly param: string
}

/** The grammar of an output. Throws `invalid-request` and `unsupported-field`. */
export function compileOutput({ output, param }: GrammarQuestion): CompiledGrammar {
  const builder = createGrammarBuilder()
  switch (output.type) {
    case 'regex':
      return builder.build(builder.addRegex(output.pattern, { param }))
    case 'json-object':
      return builder.build(builder.addAnyObject())
    case 'json-schema': {
      const { schema, strict, name = 'output' } = output
      return builder.build(builder.addSchema(schema, { strict, param, name }))
    }
  }
}
