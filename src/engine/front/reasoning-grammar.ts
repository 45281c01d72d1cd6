import type { OutputFormat } from '../../contract/output-format.ts'
import { renderLiteral } from '../../grammar/rules/expression.ts'
import { findToolFormat } from '../../model-text/formats/tool-formats.ts'
import { textUntil } from './text-until.ts'

/**
 * Whether reasoning precedes the constrained output: never; always, because the prompt has opened it; or if the model opens it.
 */
export type ReasoningFront = 'never' | 'opened' | 'optional'

/** What may come before the constrained output of a prompt, in the model's format. */
export type AnswerFront = {
  readonly format: OutputFormat | undefined
  readonly front: ReasoningFront
  /** No line break between the closing tag and the answer: the reader of the output would keep it. */
  readonly isTight?: boolean
}

/** A grammar that begins with `root`; `header` is a fixed text in front of it. */
type Answer = { readonly gbnf: string; readonly header?: string | undefined }

/** A grammar in GBNF, and the name of its first rule. */
type Grammar = { readonly text: string; readonly root: string }

/** No rule of our other grammars begins with this. */
const prefix = 'dragoman-front'

/**
 * Puts the reasoning block in front of a constraint, so that one grammar applies from the first token: any text up to the closing tag,
 * then the constrained output. The turn can only end after that.
 */
export function afterReasoning({ gbnf, header = '' }: Answer, { format, front, isTight }: AnswerFront): Grammar {
  const tags = front === 'never' ? undefined : format?.reasoning
  if (tags === undefined && header === '') return { text: gbnf, root: 'root' }
  const until = tags === undefined ? [] : textUntil(tags.close.trim(), (state) => `${prefix}-until-${state}`)
  const block = `${until[0]?.name} ${betweenBlocks(format, isTight)}`
  const optional = front === 'optional' && `(${renderLiteral(tags?.open.trim() ?? '')} ${block})?`
  const start = tags === undefined ? '' : optional || block
  const rules = [{ name: prefix, body: `${start} ${renderLiteral(header)} root` }, ...until]
  return { text: `${gbnf.trimEnd()}\n${rules.map(({ name, body }) => `${name} ::= ${body}`).join('\n')}\n`, root: prefix }
}

/** The same grammar with `root` as its first rule, for programs that begin there; texts, sets and comments stay. */
export function fromRoot({ text, root }: Grammar): string {
  if (root === 'root') return text
  const names: Readonly<Record<string, string>> = { root: `${root}-answer`, [root]: 'root' }
  return text.replace(/"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]|#[^\r\n]*|[a-zA-Z0-9-]+/g, (part) => names[part] ?? part)
}

/** Up to two line breaks, which the parser removes; in sequences of messages, the start of the next one. */
function betweenBlocks(format: OutputFormat | undefined, isTight = false): string {
  const known = findToolFormat(format?.toolFormat ?? '')
  const between = known?.messages === undefined ? known?.betweenMessages : `${known.messages.start}assistant`
  if (between !== undefined) return renderLiteral(between)
  return isTight ? '' : '("\\n" "\\n"?)?'
}
