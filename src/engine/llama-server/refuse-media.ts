import type { GenerationRequest } from '../../contract/request.ts'
import { refuseMedia } from '../refuse-media.ts'

/** What the model reads besides text. */
export type Senses = { readonly readsImages: boolean; readonly readsAudio: boolean; readonly hasMmproj: boolean }

/** Throws `unsupported-field` for a part that the model cannot read, with its place. */
export function refuseUnreadable(
  request: Pick<GenerationRequest, 'prompt'>,
  model: string,
  { readsImages, readsAudio, hasMmproj }: Senses,
): void {
  const reads = { image: readsImages, audio: readsAudio, video: false, file: false }
  const why = hasMmproj
    ? 'its multimodal projector has no part for them'
    : 'it has no multimodal projector: set `mmproj` in its configuration'
  refuseMedia(
    request,
    (kind) => reads[kind],
    (kind) => `model '${model}' cannot read parts of type '${kind}'; ${why}`,
  )
}
