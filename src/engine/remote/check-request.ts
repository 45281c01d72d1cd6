import { AppError } from '../../contract/errors.ts'
import type { GrammarMaker } from '../../threads/grammar-maker.ts'
import type { Replicas } from './fleet/replicas.ts'
import { checkTarget, type Demand, isInability, mostTelling } from './servers/check-target.ts'
import type { Target, UpstreamBody } from './wire/chat-body.ts'
import { requestBody } from './wire/request-body.ts'

/** A request in the words of one target, and what is kept of its constraint whichever server runs it. */
export type CheckedRequest = Pick<UpstreamBody, 'structured'> & {
  readonly target: Target
  readonly body: UpstreamBody
  /** Why the targets that were asked before cannot do it. */
  readonly refusals: ReadonlyMap<Target, AppError>
}

type Servers = { readonly replicas: Pick<Replicas, 'targets' | 'count'>; readonly grammars: Pick<GrammarMaker, 'make'> }

/**
 * Writes the request for the first server that can do it. Rejects as `checkTarget` and `requestBody` do, with the most telling
 * refusal when none can.
 */
export async function checkRequest(demand: Demand, { replicas, grammars }: Servers): Promise<CheckedRequest> {
  const { request } = demand
  const { targets, count } = replicas
  let made: ReturnType<GrammarMaker['make']> | undefined
  // One question for all of them: what took too long for one is not tried for the next.
  const once: typeof grammars = {
    make: (question) => {
      made ??= grammars.make(question)
      return made
    },
  }
  let first: { readonly target: Target; readonly body: UpstreamBody } | undefined
  const refusals = new Map<Target, AppError>()
  // A server that has not said yet what it is may keep less than those that have.
  let isFull = targets.length === count
  for (const target of targets) {
    try {
      checkTarget(demand, target)
      const body = await requestBody(request, target, once)
      first ??= { target, body }
      isFull &&= body.structured === 'full'
    } catch (error) {
      if (!isInability(error)) throw error
      refusals.set(target, error)
    }
    // What has no constraint is kept by all of them alike.
    if (first !== undefined && request.output.type === 'text') break
  }
  if (first === undefined) {
    throw mostTelling(refusals.values()) ?? new AppError('model-unavailable', 'none of the servers behind this model is known')
  }
  return { ...(first.body.structured !== undefined && { structured: isFull ? 'full' : 'partial' }), ...first, refusals }
}
