import type { PlacedSlice, RunCommand } from '../../channel/ipc.ts'
import type { MediaReading } from '../rounds/prefill.ts'
import type { Rounds } from '../rounds/rounds.ts'
import type { MediaStore } from './media-store.ts'

type Parts = { readonly store: MediaStore; readonly rounds: Rounds }

/** The media of a run's prompt, which are encoded when they are read; undefined: it has none. */
export function openMedia({ slices, media = [] }: RunCommand, { store, rounds }: Parts): MediaReading | undefined {
  if (slices === undefined) return undefined
  const contents = new Map(media.map((content) => [content.sha256, content]))
  return {
    spans: slices,
    async vectorsOf(index, isOver) {
      const { sha256, part } = slices[index] as PlacedSlice
      const content = contents.get(sha256)
      if (content === undefined) throw new Error('a run lacks the bytes of its media')
      return store.known(sha256, part) ?? store.encode(content, part, { rounds, isOver })
    },
  }
}
