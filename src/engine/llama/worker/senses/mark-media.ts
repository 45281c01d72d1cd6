import { placedMediaIn } from '../../../../canonical/parts.ts'
import { AppError } from '../../../../contract/errors.ts'
import { type CanonicalPath, field } from '../../../../contract/field.ts'
import { bytesOf, type MediaBytes, type MediaKind } from '../../../../contract/media.ts'
import type { ChatPrompt, ContentPart, OutputPart } from '../../../../contract/request.ts'
import type { PromptSegment } from '../../../../model-text/template/literal-text.ts'

/** A medium of a prompt, and where it is. */
export type PromptMedium = { readonly kind: MediaKind; readonly bytes: MediaBytes; readonly at: CanonicalPath }

/** A conversation whose media are texts, by which they are found once it is rendered. */
export type MarkedPrompt = { readonly prompt: ChatPrompt; readonly media: readonly PromptMedium[]; readonly marks: Marks }

/** A part of a rendered prompt: text, or the medium of this index. */
export type MarkedSegment = PromptSegment | { readonly medium: number }

/**
 * Replaces media by texts that no template changes: only letters and digits. `secret`: letters and digits that no caller can guess, or they
 * could write such a text themselves.
 */
export function markMedia(prompt: ChatPrompt, secret: string): MarkedPrompt {
  const media = placedMediaIn(prompt).map(({ part, at }) => ({ kind: part.kind, bytes: bytesOf(part), at }))
  const marks = new Marks(secret)
  let next = 0
  const markParts = <P extends ContentPart | OutputPart>(parts: readonly P[]): P[] => {
    const marked: (ContentPart | OutputPart)[] = []
    for (const [index, part] of parts.entries()) {
      if (part.type === 'tool-result') marked.push({ ...part, content: markParts(part.content) })
      else if (part.type !== 'media' && part.type !== 'text') marked.push(part)
      else {
        const text = part.type === 'media' ? marks.of(next++) : part.text
        const [before, last] = [parts[index - 1]?.type, marked.at(-1)]
        // As llama-server joins them: a line break between texts, and nothing beside media.
        const isJoined = before === 'media' || (before === 'text' && part.type === 'media')
        if (isJoined && last?.type === 'text') marked.splice(-1, 1, { ...last, text: last.text + text })
        else marked.push({ type: 'text', text })
      }
    }
    return marked as P[]
  }
  const messages = prompt.messages.map((message) =>
    message.role === 'assistant'
      ? { ...message, parts: markParts(message.parts) }
      : { ...message, content: markParts(message.content) },
  )
  return { prompt: { ...prompt, messages }, media, marks }
}

class Marks {
  readonly #secret: string

  constructor(secret: string) {
    this.#secret = secret
  }

  of(index: number): string {
    return `${this.#secret}m${index}m`
  }

  /** The text with another text in place of each mark. */
  replace(text: string, by: string): string {
    return text.replaceAll(this.#pattern, by)
  }

  /** Throws `template-failed` for a medium that the template has left out. */
  split(segments: readonly PromptSegment[], media: readonly PromptMedium[]): MarkedSegment[] {
    const missing = new Set(media.keys())
    const split = segments.flatMap(({ text, literal }) =>
      text.split(this.#pattern).flatMap((piece, index): MarkedSegment[] => {
        if (index % 2 === 0) return piece === '' ? [] : [{ text: piece, literal }]
        missing.delete(Number(piece))
        return [{ medium: Number(piece) }]
      }),
    )
    const lost = media.find((_, index) => missing.has(index))
    if (lost === undefined) return split
    const message = `the model's chat template leaves out the ${lost.kind} at ${field(...lost.at)}: put it in a message of the user`
    throw new AppError('template-failed', message, { at: lost.at })
  }

  get #pattern(): RegExp {
    return new RegExp(`${this.#secret}m(\\d+)m`, 'g')
  }
}
