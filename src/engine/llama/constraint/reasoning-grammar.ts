import type { OutputFormat } from '../../../contract/output-format.ts'
import { renderLiteral } from '../../../grammar/expression.ts'
import { findToolFormat } from '../../../model-text/formats/tool-formats.ts'
import type { Constraint } from './constraint.ts'
import { textUntil } from './text-until.ts'

/**
 * Whether reasoning precedes the constrained output: never; always, because the prompt has opened it; or if the model opens it.
 */
export type ReasoningFront = 'never' | 'opened' | 'optional'

type Front = {
  readonly format: OutputFormat | undefined
  readonly front: ReasoningFront
}

/** A grammar in GBNF, and the name of its first rule. */
type Grammar = { readonly text: string; readonly root: string }

/** No rule of our other grammars begins with this. */
const prefix = 'dragoman-front'

/**
 * Puts the reasoning block in front of a constraint, so that one grammar applies from the first token: any text up to the closing tag,
 * then the constrained output. The turn can only end after that.
 */
export function afterReasoning({ gbnf, header = '' }: Constraint, { format, front }: Front): Grammar {
  const tags = front === 'never' ? undefined : format?.reasoning
  if (tags === undefined && header === '') return { text: gbnf, root: 'root' }
  const until = tags === undefined ? [] : textUntil(tags.close.trim(), (state) => `${prefix}-until-${state}`)
  const block = `${until[0]?.name} ${betweenBlocks(format)}`
  const optional = front === 'optional' && `(${renderLiteral(tags?.open.trim() ?? '')} ${block})?`
  const start = tags === undefined ? '' : optional || block
  const rules = [{ name: prefix, body: `${start} ${renderLiteral(header)} root` }, ...until]
  return { text: `${gbnf.trimEnd()}\n${rules.map(({ name, body }) => `${name} ::= ${body}`).join('\n')}\n`, root: prefix }
}

/** Up to two line breaks, which the parser removes; in sequences of messages, the start of the next one. */
function betweenBlocks(format: OutputFormat | undefined): string {
  const known = findToolFormat(format?.toolFormat ?? '')
  const between = known?.messages === undefined ? known?.betweenMessages : `${known.messages.start}assistant`
  return between === undefined ? '("\\n" "\\n"?)?' : renderLiteral(between)
}
