import { larkToGbnf } from './lark/lark-grammar.ts'
import { checkGbnf } from './rules/check-gbnf.ts'

/**
 * A caller's grammar as GBNF. One without `::=` is read in Lark's language, whose rules have `:` there. Throws a `GrammarError` for what is
 * neither.
 */
export function givenGrammar(text: string, { param }: { readonly param?: string } = {}): string {
  const named = param === undefined ? {} : { param }
  if (!text.includes('::=')) return larkToGbnf(text, named)
  checkGbnf(text, named)
  return text
}
