import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Context } from '../../binding/context.ts'
import type { PlacedSlice, RunCommand } from '../../channel/ipc.ts'
import type { MediaReading } from '../rounds/prefill.ts'
import type { Rounds } from '../rounds/rounds.ts'
import type { Encoded, MediaStore } from './media-store.ts'

type Parts = { readonly store: MediaStore; readonly context: Pick<Context, 'betweenPasses'>; readonly rounds: Rounds }

/** The media of a run's prompt, which are encoded when they are read; undefined: it has none. */
export function openMedia({ slices, media = [] }: RunCommand, { store, context, rounds }: Parts): MediaReading | undefined {
  if (slices === undefined) return undefined
  const contents = new Map(media.map((content) => [content.sha256, content]))
  return {
    spans: slices,
    async vectorsOf(index, isOver) {
      const { sha256, part } = slices[index] as PlacedSlice
      const known = store.known(sha256, part)
      if (known !== undefined) return known
      const content = contents.get(sha256)
      if (content === undefined) throw new Error('a run lacks the bytes of its media')
      let encoded: Encoded | 'over' = 'over'
      const encode = async () => {
        if (isOver()) return
        // The passes of this round come first: streams wait for one slice, and their tokens do not.
        await nextTurn()
        encoded = await context.betweenPasses(() => store.encode(content, part))
      }
      await rounds.join('prompts', encode, { isOver })
      return encoded
    },
  }
}
