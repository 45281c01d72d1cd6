import { AppError } from '../../core/errors.ts'
import type { ContentPart, GenerationRequest } from '../../core/request.ts'

/** What the model reads besides text. */
export type Senses = { readonly readsImages: boolean; readonly readsAudio: boolean; readonly hasMmproj: boolean }

/** Throws `unsupported-field` for a part that the model cannot read, with its place. */
export function refuseMedia({ prompt }: Pick<GenerationRequest, 'prompt'>, model: string, senses: Senses): void {
  if (prompt.type !== 'chat') return
  for (const [index, { content }] of prompt.messages.entries()) {
    const part = content.findIndex((candidate) => !canRead(candidate, senses))
    const found = content[part]
    if (found === undefined) continue
    const why = senses.hasMmproj
      ? 'its multimodal projector has no part for them'
      : 'it has no multimodal projector: set `mmproj` in its configuration'
    const message = `model '${model}' cannot read parts of type '${found.type}'; ${why}`
    throw new AppError('unsupported-field', message, { param: `messages[${index}].content[${part}]` })
  }
}

function canRead(part: ContentPart, { readsImages, readsAudio }: Senses): boolean {
  switch (part.type) {
    case 'text':
      return true
    case 'image':
      return readsImages
    case 'audio':
      return readsAudio
  }
}
