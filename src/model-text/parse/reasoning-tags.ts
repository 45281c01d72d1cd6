import type { OutputFormat } from '../../contract/output-format.ts'
import type { DroppedTag } from '../formats/tool-format.ts'

/** The tags around reasoning. */
export type ReasoningTags = {
  readonly open: string
  readonly close: string
  /** The white space after the closing tag belongs to it. */
  readonly trimAfter: boolean
  /** `start`: reasoning begins only where an answer does. `anywhere`: the opening tag is never text. */
  readonly position: 'start' | 'anywhere'
}

/** Splits what a template writes around reasoning into the tags and the white space around them. */
export function readReasoningTags({ open, close }: NonNullable<OutputFormat['reasoning']>): ReasoningTags {
  const tag = open.trim()
  return {
    open: tag,
    close: close.trim(),
    trimAfter: close !== close.trimEnd(),
    position: isSpecialToken(tag) ? 'anywhere' : 'start',
  }
}

/** Tags without their partner, which are not text of an answer either. */
export function unpairedTags({ open, close, position }: ReasoningTags): readonly DroppedTag[] {
  if (position !== 'anywhere') return []
  const tags = open.startsWith('<|channel>') ? [close, '<|channel>'] : [close]
  return tags.map((tag) => ({ tag, position }))
}

/** By its look: a token that vocabularies have for this purpose, and that does not occur in prose. */
function isSpecialToken(tag: string): boolean {
  return /[|[◁]/.test(tag)
}
