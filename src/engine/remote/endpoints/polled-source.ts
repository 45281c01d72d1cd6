import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { messageOf } from '../../../contract/errors.ts'
import { afterLookup, type Lookup, notLookedUp } from './lookup-rule.ts'
import { checkFound, type EndpointSource } from './source.ts'

export type SourceOptions = {
  /** Called with what an operator should know: each trouble once, until it is over or another one. */
  warn(message: string): void
  /** From 0 to below 1. */
  random?(): number
}

type Polled = SourceOptions & {
  /** The source, in messages. */
  readonly name: string
  readonly everyMs: number
  look(signal: AbortSignal): Promise<Lookup>
}

/** Without a first result, nobody can be served. */
const firstRetryMs = 1000

/** Looks every `everyMs`, with a tenth of jitter: servers that start together do not ask together. */
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
