import type { OutputFormat } from '../../contract/output-format.ts'
import type { DroppedTag } from '../formats/tool-format.ts'

export type ReasoningTags = {
  readonly open: string
  /** Text after the opening tag that belongs to it: Gemma 4 names the channel. */
  readonly label?: string
  readonly close: string
  /** The white space after the closing tag belongs to it. */
  readonly trimAfter: boolean
  /** `start`: reasoning begins only where an answer does. `anywhere`: the opening tag is never text. */
  readonly position: 'start' | 'anywhere'
  /** Tags around the answer that follows. */
  readonly dropped: readonly DroppedTag[]
}

/** Divides the template's text around reasoning into the tags and the white space around them. */
export function readReasoningTags({ open, close }: NonNullable<OutputFormat['reasoning']>): ReasoningTags {
  const tag = open.trim()
  // Hunyuan A13B: the answer has tags of its own.
  const [end = '', answer] = close.trim().split(/\s*(?=<answer>)/)
  const channel = /^(<\|channel>)(.+)$/.exec(tag)
  return {
    open: channel?.[1] ?? tag,
    ...(channel?.[2] !== undefined && { label: channel[2] }),
    close: end,
    trimAfter: close !== close.trimEnd(),
    position: isSpecialToken(tag) ? 'anywhere' : 'start',
    dropped:
      answer === undefined
        ? []
        : [
            { tag: answer, position: 'start', only: 'header' },
            { tag: answer.replace('<', '</'), position: 'anywhere', only: 'last' },
          ],
  }
}

/** Tags that are not text of an answer: a closing tag without its partner, and those around the answer. */
export function droppedAround({ close, position, dropped }: ReasoningTags): readonly DroppedTag[] {
  return [{ tag: close, position }, ...dropped]
}

/** Judging by its form: a token that vocabularies have for this purpose, and that does not occur in prose. */
function isSpecialToken(tag: string): boolean {
  return /[|[◁]/.test(tag)
}
