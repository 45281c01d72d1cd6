import type { MediaKind } from '../../contract/media.ts'
import type { ChatWire } from './schema.ts'

type MediaBeside = { readonly field: string; readonly kind: MediaKind; readonly base64: string }

/** The media of fields beside the messages, in the order in which they follow the last message of the user. */
export function mediaBeside({ image_base64, audio_base64 }: ChatWire): readonly MediaBeside[] {
  const all = [
    { field: 'image_base64', kind: 'image' as const, base64: image_base64 ?? '' },
    { field: 'audio_base64', kind: 'audio' as const, base64: audio_base64 ?? '' },
  ]
  return all.filter(({ base64 }) => base64 !== '')
}
