import type { GenerationEvent } from '../contract/event.ts'
import type { Generation } from '../core/generate.ts'

type Held = { readonly event: GenerationEvent; release(): void; fail(error: unknown): void }

/**
 * The events of a generation, one after the other: the engine waits until the next is asked for. Leaving the iteration ends the
 * generation, and waits for its end. Throws what the generation fails with, also in the middle.
 */
export async function* iterateEvents({ run }: Generation): AsyncGenerator<GenerationEvent, void, void> {
  const held: Held[] = []
  const left = new Error('the reader left')
  let hasLeft = false
  let wake: () => void = () => undefined
  let end: { readonly error?: unknown } | undefined
  const settle = (how: { readonly error?: unknown }) => {
    end = how
    wake()
  }
  const running = run((event) => {
    if (hasLeft) throw left
    return new Promise((release, fail) => {
      held.push({ event, release, fail })
      wake()
    })
  }).then(
    () => settle({}),
    (error: unknown) => settle({ error }),
  )
  let current: Held | undefined
  try {
    while (true) {
      current = held.shift()
      if (current !== undefined) {
        if (current.event.type === 'error') throw current.event.error
        yield current.event
        current.release()
      } else if (end === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      } else if ('error' in end) throw end.error
      else return
    }
  } finally {
    hasLeft = true
    current?.fail(left)
    for (const { fail } of held) fail(left)
    await running
  }
}
