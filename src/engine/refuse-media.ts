import { AppError } from '../contract/errors.ts'
import type { CanonicalPath } from '../contract/field.ts'
import type { MediaKind } from '../contract/media.ts'
import type { ContentPart, GenerationRequest, MediaPart, OutputPart } from '../contract/request.ts'

/**
 * Throws `unsupported-field`, with its path and the message of `explain`, for the first part that the model cannot read. References that were
 * not read yet are refused by their kind.
 */
export function refuseMedia(
  { prompt }: Pick<GenerationRequest, 'prompt'>,
  canRead: (kind: MediaKind) => boolean,
  explain: (kind: MediaKind) => string,
): void {
  if (prompt.type !== 'chat') return
  const refuse = (parts: readonly (ContentPart | OutputPart)[], path: CanonicalPath) => {
    for (const [index, part] of parts.entries()) {
      const at = [...path, index]
      if (part.type === 'tool-result') refuse(part.content, [...at, 'content'])
      if (part.type !== 'media' || mayBeOther(part) || canRead(part.kind)) continue
      throw new AppError('unsupported-field', explain(part.kind), { at })
    }
  }
  for (const [index, message] of prompt.messages.entries()) {
    const path = ['prompt', 'messages', index]
    if (message.role === 'assistant') refuse(message.parts, [...path, 'parts'])
    else refuse(message.content, [...path, 'content'])
  }
}

/** A file may hold a picture, which is known when it was read; only for what would be fetched, its name has to do. */
function mayBeOther({ kind, source }: MediaPart): boolean {
  if (kind !== 'file' || source.type === 'bytes') return false
  return source.type !== 'url' || !/^https?:/i.test(source.url)
}
