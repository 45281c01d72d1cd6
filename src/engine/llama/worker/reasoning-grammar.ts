import type { OutputFormat } from '../../../contract/output-format.ts'
import { renderLiteral } from '../../../grammar/expression.ts'
import { findToolFormat } from '../../../model-text/formats/tool-formats.ts'
import type { Constraint } from './constraint.ts'
import type { Grammar } from './grammars.ts'
import { textUntil } from './text-until.ts'

/**
 * Whether there is reasoning in front of what a grammar binds: never; always, because the prompt has opened it; or where
 * the model chooses to open it.
 */
export type ReasoningFront = 'never' | 'opened' | 'optional'

type Front = {
  readonly format: OutputFormat | undefined
  readonly front: ReasoningFront
}

/** Not the beginning of a rule's name in any grammar of our own making. */
const prefix = 'dragoman-front'

/**
 * Puts the block of reasoning in front of a constraint, so that one grammar holds from the first token on: any text up to
 * the closing mark, and then what the constraint says. The end of the turn is only allowed after that.
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

/** A line break or two, which the reader of the output takes away; in rows of messages, the beginning of the next. */
function betweenBlocks(format: OutputFormat | undefined): string {
  const messages = findToolFormat(format?.toolFormat ?? '')?.messages
  return messages === undefined ? '("\\n" "\\n"?)?' : renderLiteral(`${messages.start}assistant`)
}
