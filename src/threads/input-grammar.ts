import type { CanonicalPath } from '../contract/field.ts'
import { field } from '../contract/field.ts'
import type { JsonObject } from '../contract/request.ts'
import type { TextGrammar } from '../contract/validator.ts'
import { compileOutput } from '../grammar/compile-output.ts'
import { larkToGbnf } from '../grammar/lark/lark-grammar.ts'
import { gbnfKeyword } from '../grammar/rules/gbnf-text.ts'
import { compileForRequest } from './grammar-failure.ts'

export type InputGrammarRequest = { readonly grammar: TextGrammar; readonly place: CanonicalPath }

/** The JSON Schema of the strings that a grammar allows. Throws the failure of the request, at the grammar's place. */
export function inputSchemaOf({ grammar: { syntax, definition }, place }: InputGrammarRequest): JsonObject {
  const param = field(...place)
  return compileForRequest(() => {
    switch (syntax) {
      case 'lark':
        return { type: 'string', [gbnfKeyword]: larkToGbnf(definition, { param }) }
      case 'gbnf':
        return { type: 'string', [gbnfKeyword]: compileOutput({ output: { type: 'gbnf', grammar: definition }, param }).grammar }
      case 'regex':
        compileOutput({ output: { type: 'regex', pattern: definition }, param })
        return { type: 'string', pattern: `^(?:${definition})$` }
    }
  })
}
