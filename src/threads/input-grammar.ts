import type { CanonicalPath } from '../contract/field.ts'
import { field } from '../contract/field.ts'
import type { CustomTool, JsonObject } from '../contract/request.ts'
import { compileOutput } from '../grammar/compile-output.ts'
import { gbnfKeyword } from '../grammar/gbnf-text.ts'
import { larkToGbnf } from '../grammar/lark-grammar.ts'
import { compileForRequest } from './grammar-failure.ts'

/** The grammar of a custom tool's input, and its place in the request. */
export type InputGrammarRequest = { readonly grammar: NonNullable<CustomTool['grammar']>; readonly place: CanonicalPath }

/** The JSON Schema of the strings that a grammar allows. Throws the failure of the request, at the grammar's place. */
export function inputSchemaOf({ grammar: { syntax, definition }, place }: InputGrammarRequest): JsonObject {
  const param = field(...place)
  return compileForRequest(() => {
    if (syntax === 'lark') return { type: 'string', [gbnfKeyword]: larkToGbnf(definition, { param }) }
    compileOutput({ output: { type: 'regex', pattern: definition }, param })
    return { type: 'string', pattern: `^(?:${definition})$` }
  })
}
