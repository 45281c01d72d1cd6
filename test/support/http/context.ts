import type { RequestContext } from '../../../src/contract/context.ts'
import type { Engine } from '../../../src/contract/engine.ts'
import { allScopes, type Principal } from '../../../src/contract/principal.ts'
import { FairScheduler } from '../../../src/core/schedule/fair-scheduler.ts'

export const anyone: Principal = { id: 'anyone', isAnyone: true, scopes: allScopes }

export type ContextOptions = Partial<RequestContext> & { readonly slots?: number; readonly maxQueued?: number }

/** The context of a request to its own model on `engine`. */
export function contextOf(engine: Engine, { slots = 1, maxQueued = 1, ...given }: ContextOptions = {}): RequestContext {
  return {
    id: 'request',
    principal: anyone,
    model: { id: 'm', engine, scheduler: new FairScheduler({ slots, maxQueued, engine }) },
    receivedAtMs: performance.now(),
    signal: new AbortController().signal,
    ...given,
  }
}
