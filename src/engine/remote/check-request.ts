import { AppError } from '../../contract/errors.ts'
import type { GrammarMaker } from '../../threads/grammar-maker.ts'
import type { Replicas } from './fleet/replicas.ts'
import { type CountedRequest, checkUpstream, isCapabilityError, mostHelpful } from './servers/check-upstream.ts'
import type { Upstream } from './servers/upstream.ts'
import type { UpstreamBody } from './wire/chat-body.ts'
import { requestBody } from './wire/request-body.ts'

/** A request in the words of one upstream, and what is kept of its constraint whichever server runs it. */
export type CheckedRequest = Pick<UpstreamBody, 'structured'> & {
  readonly upstream: Upstream
  readonly body: UpstreamBody
  /** Why the upstreams that were asked before cannot do it. */
  readonly refusals: ReadonlyMap<Upstream, AppError>
}

type Servers = { readonly replicas: Pick<Replicas, 'upstreams' | 'count'>; readonly grammars: Pick<GrammarMaker, 'make'> }

/**
 * Writes the request for the first server that can do it. Rejects as `checkUpstream` and `requestBody` do, with the most telling
 * refusal when none can.
 */
export async function checkRequest(counted: CountedRequest, { replicas, grammars }: Servers): Promise<CheckedRequest> {
  const { request } = counted
  const { upstreams, count } = replicas
  let made: ReturnType<GrammarMaker['make']> | undefined
  // One question for all of them: what took too long for one is not tried for the next.
  const once: typeof grammars = {
    make: (question) => {
      made ??= grammars.make(question)
      return made
    },
  }
  let first: { readonly upstream: Upstream; readonly body: UpstreamBody } | undefined
  const refusals = new Map<Upstream, AppError>()
  // A server that has not said yet what it is may keep less than those that have.
  let isFull = upstreams.length === count
  for (const upstream of upstreams) {
    try {
      checkUpstream(counted, upstream)
      const body = await requestBody(request, upstream, once)
      first ??= { upstream, body }
      isFull &&= body.structured === 'full'
    } catch (error) {
      if (!isCapabilityError(error)) throw error
      refusals.set(upstream, error)
    }
    // What has no constraint is kept by all of them alike.
    if (first !== undefined && request.output.type === 'text') break
  }
  if (first === undefined) {
    throw mostHelpful(refusals.values()) ?? new AppError('model-unavailable', 'none of the servers behind this model is known')
  }
  return { ...(first.body.structured !== undefined && { structured: isFull ? 'full' : 'partial' }), ...first, refusals }
}
