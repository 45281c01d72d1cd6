import type { GenerationEvent } from '../contract/event.ts'
import type { Generation } from '../core/generate.ts'

type Pending = { readonly event: GenerationEvent; release(): void; fail(error: unknown): void }

/**
 * Iterates over the events of a generation; the engine waits until the next event is requested. Leaving the iteration stops the
 * generation and waits for its end. Throws the generation's failure.
 */
export async function* iterateEvents({ run }: Generation): AsyncGenerator<GenerationEvent, void, void> {
  const pending: Pending[] = []
  const left = new Error('the iteration was left')
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
      pending.push({ event, release, fail })
      wake()
    })
  }).then(
    () => settle({}),
    (error: unknown) => settle({ error }),
  )
  let current: Pending | undefined
  try {
    while (true) {
      current = pending.shift()
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
    for (const { fail } of pending) fail(left)
    await running
  }
}
