import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { messageOf } from '../../../contract/errors.ts'
import { afterLookup, type Lookup, notLookedUp } from './lookup-rule.ts'
import { checkFound, type EndpointSource } from './source.ts'

export type SourceOptions = {
  /** Called with problems that an operator should know of. A problem is reported again only after it was over or another one came. */
  warn(message: string): void
  /** From 0 to below 1. */
  random?(): number
}

type Polled = SourceOptions & {
  readonly name: string
  readonly everyMs: number
  look(signal: AbortSignal): Promise<Lookup>
}

/** Short: without a first result, the model cannot serve anybody. */
const firstRetryMs = 1000

/** A source that is polled every `everyMs`, with 10 % jitter so that processes that start together do not poll together. */
export function polledSource({ name, everyMs, look, warn, random = Math.random }: Polled): EndpointSource {
  return {
    follow: ({ onSet, onFailure }) => {
      const stopped = new AbortController()
      const { signal } = stopped
      const poll = async () => {
        let state = notLookedUp
        let trouble: string | undefined
        while (!signal.aborted) {
          const lookup = await look(signal)
            .then((found) => (found.type === 'found' ? { ...found, endpoints: checkFound(found.endpoints) } : found))
            .catch((error: unknown): Lookup => ({ type: 'failed', reason: messageOf(error) }))
          if (signal.aborted) return
          const before = state
          state = afterLookup(state, lookup)
          const { endpoints } = state
          const reason = lookup.type === 'found' ? undefined : `${name}: ${lookup.reason}`
          if (reason !== undefined && reason !== trouble) warn(reason)
          trouble = reason
          if (endpoints === undefined) onFailure(reason ?? name)
          else if (!isDeepStrictEqual(endpoints, before.endpoints)) onSet(endpoints)
          const pauseMs = endpoints === undefined ? Math.min(firstRetryMs, everyMs) : everyMs
          await sleep(pauseMs * (0.9 + random() / 5), undefined, { signal, ref: false }).catch(() => undefined)
        }
      }
      void poll()
      return { stop: () => stopped.abort() }
    },
  }
}
