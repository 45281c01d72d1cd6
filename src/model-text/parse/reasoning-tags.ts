import type { OutputFormat } from '../../contract/output-format.ts'
import type { Stray } from '../formats/tool-format.ts'

/** The marks around reasoning, taken apart. */
export type ReasoningMarks = {
  readonly open: string
  readonly close: string
  /** The white space after the closing mark belongs to it. */
  readonly trimAfter: boolean
  /** Reasoning may begin anywhere, not only where an answer begins: an answer does not hold such a mark as text. */
  readonly anywhere: boolean
}

/** Takes apart what a template writes around reasoning: the marks, and whether white space follows them. */
export function readReasoningMarks({ open, close }: NonNullable<OutputFormat['reasoning']>): ReasoningMarks {
  const mark = open.trim()
  return { open: mark, close: close.trim(), trimAfter: close !== close.trimEnd(), anywhere: isControlText(mark) }
}

/** Marks without their partner, which are no text of an answer either. */
export function straysOf({ open, close, anywhere }: ReasoningMarks): readonly Stray[] {
  if (!anywhere) return []
  const marks = open.startsWith('<|channel>') ? [close, '<|channel>'] : [close]
  return marks.map((mark) => ({ mark, place: 'anywhere' }))
}

/** A text that a model's vocabulary has for this purpose, and that nobody writes in prose. */
function isControlText(mark: string): boolean {
  return /[|[◁]/.test(mark)
}
