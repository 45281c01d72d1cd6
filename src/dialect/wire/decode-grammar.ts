import { AppError } from '../../contract/errors.ts'
import type { OutputConstraint } from '../../contract/request.ts'

/** The name of a rule and its colon on one line, as in Lark: across line breaks, matching would take quadratic time. */
const larkRule = /^[ \t]*[?!]?\w+(?:\.-?\d+)?[ \t]*:/m

/** A caller's grammar, in either of the languages that engines read. Throws `invalid-request` for a text without a rule. */
export function decodeGrammar(grammar: string, param: string): OutputConstraint {
  if (grammar.includes('::=') || larkRule.test(grammar)) return { type: 'gbnf', grammar }
  const message = `${param} has no rule: expected a grammar in GBNF, such as 'root ::= "yes" | "no"', or in Lark's language, such as 'start: "yes" | "no"'`
  throw new AppError('invalid-request', message, { param })
}
