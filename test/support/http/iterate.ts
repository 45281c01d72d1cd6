import type { Emit } from '../../../src/base/emit.ts'
import type { PreparedGeneration } from '../../../src/contract/engine.ts'
import type { EngineEvent } from '../../../src/contract/event.ts'

type Item<Event> = { readonly event: Event; resolve(): void; reject(error: unknown): void }

/** The events of a prepared generation, as `iterate` gives them. */
export function runOf(prepared: PreparedGeneration, signal: AbortSignal) {
  return iterate<EngineEvent>((emit) => prepared.run(signal, emit))
}

/** Iterates over a run's events; each waits until the next is requested. Leaving the iteration fails the run and waits for its end. */
export async function* iterate<Event>(run: (emit: Emit<Event>) => Promise<void>): AsyncGenerator<Event, void, void> {
  const items: Item<Event>[] = []
  const left = new Error('the reader has left')
  let hasLeft = false
  let wake: () => void = () => undefined
  let end: { readonly error?: unknown } | undefined
  const running = run((event) => {
    if (hasLeft) throw left
    return new Promise((resolve, reject) => {
      items.push({ event, resolve, reject })
      wake()
    })
  }).then(
    () => {
      end = {}
      wake()
    },
    (error: unknown) => {
      end = { error }
      wake()
    },
  )
  const held = new Set<Item<Event>>()
  try {
    while (true) {
      const item = items.shift()
      if (item !== undefined) {
        held.add(item)
        yield item.event
        held.delete(item)
        item.resolve()
      } else if (end === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      } else if ('error' in end) throw end.error
      else return
    }
  } finally {
    hasLeft = true
    for (const item of [...held, ...items]) item.reject(left)
    await running
  }
}
