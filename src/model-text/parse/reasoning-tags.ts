import type { OutputFormat } from '../../contract/output-format.ts'
import type { DroppedTag } from '../formats/tool-format.ts'

/** The marks around reasoning, taken apart. */
export type ReasoningTags = {
  readonly open: string
  readonly close: string
  /** The white space after the closing mark belongs to it. */
  readonly trimAfter: boolean
  /** Reasoning may begin anywhere, not only where an answer begins: an answer does not hold such a mark as text. */
  readonly anywhere: boolean
}

/** Takes apart what a template writes around reasoning: the marks, and whether white space follows them. */
export function readReasoningTags({ open, close }: NonNullable<OutputFormat['reasoning']>): ReasoningTags {
  const tag = open.trim()
  return { open: tag, close: close.trim(), trimAfter: close !== close.trimEnd(), anywhere: isControlText(tag) }
}

/** Tags without their partner, which are no text of an answer either. */
export function unpairedTags({ open, close, anywhere }: ReasoningTags): readonly DroppedTag[] {
  if (!anywhere) return []
  const tags = open.startsWith('<|channel>') ? [close, '<|channel>'] : [close]
  return tags.map((tag) => ({ tag, position: 'anywhere' }))
}

/** A text that a model's vocabulary has for this purpose, and that nobody writes in prose. */
function isControlText(tag: string): boolean {
  return /[|[◁]/.test(tag)
}
