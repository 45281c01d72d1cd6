import { kbnfToLark } from './lark/kbnf.ts'
import { larkToGbnf } from './lark/lark-grammar.ts'
import { checkGbnf } from './rules/check-gbnf.ts'
import { withParam } from './rules/grammar-error.ts'

/**
 * A caller's grammar as GBNF. Without `::=` it is read as Lark, whose rules have `:` there; if it is not GBNF and its rules end in `;`, as
 * KBNF. Throws a `GrammarError` for anything else.
 */
export function givenGrammar(text: string, { param }: { readonly param?: string } = {}): string {
  const named = param === undefined ? {} : { param }
  if (!text.includes('::=')) return larkToGbnf(text, named)
  try {
    checkGbnf(text, named)
    return text
  } catch (error) {
    const lark = withParam(param, () => kbnfToLark(text))
    if (lark === undefined) throw error
    return larkToGbnf(lark, named)
  }
}
