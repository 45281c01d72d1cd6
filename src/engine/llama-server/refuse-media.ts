import type { GenerationRequest } from '../../contract/request.ts'
import { refuseMedia } from '../shared/refuse-media.ts'

export type Senses = {
  readonly readsImages: boolean
  readonly readsAudio: boolean
  readonly readsVideo: boolean
  readonly hasMmproj: boolean
}

/** Throws `unsupported-field` for a part that the model cannot read, with its path. */
export function refuseUnreadable(
  request: Pick<GenerationRequest, 'prompt'>,
  model: string,
  { readsImages, readsAudio, readsVideo, hasMmproj }: Senses,
): void {
  // Videos may become images, and documents text: the client of the server decides.
  const reads = { image: readsImages, audio: readsAudio, video: readsVideo || readsImages, file: true }
  const why = hasMmproj
    ? 'its multimodal projector has no part for them'
    : 'it has no multimodal projector: set `mmproj` in its configuration'
  refuseMedia(
    request,
    (kind) => reads[kind],
    (kind) => `model '${model}' cannot read parts of type '${kind}'; ${why}`,
  )
}
