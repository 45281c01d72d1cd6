import { kbnfToLark } from './lark/kbnf.ts'
import { larkToGbnf } from './lark/lark-grammar.ts'
import { checkGbnf } from './rules/check-gbnf.ts'
import { withParam } from './rules/grammar-error.ts'

/**
 * A caller's grammar as GBNF. One without `::=` is read in Lark's language, whose rules have `:` there, and one that is not GBNF and whose
 * rules end in `;` in KBNF. Throws a `GrammarError` for anything else.
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
