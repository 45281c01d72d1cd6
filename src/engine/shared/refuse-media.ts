import { placedMediaIn } from '../../canonical/parts.ts'
import { AppError } from '../../contract/errors.ts'
import type { MediaKind } from '../../contract/media.ts'
import type { GenerationRequest, MediaPart } from '../../contract/request.ts'

/**
 * Throws `unsupported-field`, with its path and the message of `explain`, for the first part that the model cannot read. References that were
 * not read yet are refused by their kind.
 */
export function refuseMedia(
  { prompt }: Pick<GenerationRequest, 'prompt'>,
  canRead: (kind: MediaKind) => boolean,
  explain: (kind: MediaKind) => string,
): void {
  for (const { part, at } of placedMediaIn(prompt)) {
    if (!mayBeOther(part) && !canRead(part.kind)) throw new AppError('unsupported-field', explain(part.kind), { at })
  }
}

/** Once a file is read, it is a picture or a sound, or becomes text. */
function mayBeOther({ kind, source }: MediaPart): boolean {
  return kind === 'file' && source.type !== 'bytes'
}

/** Throws `unsupported-field` for media: they have no tokens with ids, and only llama.cpp and servers like it count them. */
export function refuseTokensOfMedia(request: Pick<GenerationRequest, 'prompt'>): void {
  const explain = (kind: MediaKind) =>
    `a part of type '${kind}' has no tokens with ids: leave it out, or have the conversation counted instead`
  refuseMedia(request, () => false, explain)
}
