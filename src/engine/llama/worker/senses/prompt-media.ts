import type { PlacedSlice, RunCommand } from '../../channel/ipc.ts'
import type { MediaReading } from '../rounds/prefill.ts'
import type { Rounds } from '../rounds/rounds.ts'
import type { MediaStore } from './media-store.ts'

type Parts = { readonly store: MediaStore; readonly rounds: Rounds }

/** The media of a run's prompt, which are encoded when they are read; undefined: it has none. */
export function openMedia({ slices }: RunCommand, { store, rounds }: Parts): MediaReading | undefined {
  if (slices === undefined) return undefined
  return {
    spans: slices,
    async vectorsOf(index, isOver) {
      const { sha256, part } = slices[index] as PlacedSlice
      return store.known(sha256, part) ?? store.encode(sha256, part, { rounds, isOver })
    },
  }
}
