import { AppError } from '../../contract/errors.ts'
import type { GrammarCompiler } from '../../threads/grammar-compiler.ts'
import type { Replicas } from './fleet/replicas.ts'
import { type CountedRequest, checkUpstream, isCapabilityError, mostHelpful } from './servers/check-upstream.ts'
import type { Upstream } from './servers/upstream.ts'
import type { UpstreamBody } from './wire/chat-body.ts'
import { requestBody } from './wire/request-body.ts'

/** What the check found out about a request: what holds for each upstream that was asked, and for all of them. */
export type CheckedRequest = Pick<UpstreamBody, 'structured'> & {
  /** Ready to be sent. Not all upstreams are checked when the first can do it. */
  readonly bodies: ReadonlyMap<Upstream, UpstreamBody>
  /** Why the others cannot do it. */
  readonly refusals: ReadonlyMap<Upstream, AppError>
}

type Fleet = { readonly replicas: Pick<Replicas, 'upstreams' | 'count'>; readonly grammars: Pick<GrammarCompiler, 'compile'> }

/**
 * Writes the request for the first upstream that can do it, and one with a constraint for all of them. Rejects as
 * `checkUpstream` and `requestBody` do, with the most helpful refusal when none can.
 */
export async function checkRequest(counted: CountedRequest, { replicas, grammars }: Fleet): Promise<CheckedRequest> {
  const { request } = counted
  const { upstreams, count } = replicas
  let compiled: ReturnType<GrammarCompiler['compile']> | undefined
  // One grammar for all: what took too long for one is not tried for the next.
  const once: typeof grammars = {
    compile: (grammarRequest) => {
      compiled ??= grammars.compile(grammarRequest)
      return compiled
    },
  }
  const bodies = new Map<Upstream, UpstreamBody>()
  const refusals = new Map<Upstream, AppError>()
  for (const upstream of upstreams) {
    try {
      checkUpstream(counted, upstream)
      const body = requestBody(request, upstream, once)
      bodies.set(upstream, body instanceof Promise ? await body : body)
    } catch (error) {
      if (!isCapabilityError(error)) throw error
      refusals.set(upstream, error)
    }
    // Without a constraint, the others need not be known.
    if (bodies.size > 0 && request.output.type === 'text') break
  }
  const all = [...bodies.values()]
  const [first] = all
  if (first === undefined) {
    throw mostHelpful(refusals.values()) ?? new AppError('model-unavailable', 'none of the servers behind this model is known')
  }
  if (first.structured === undefined) return { bodies, refusals }
  // The weakest replica counts, and an unknown one may be weaker.
  const isFull = upstreams.length === count && all.every(({ structured }) => structured === 'full')
  return { structured: isFull ? 'full' : 'partial', bodies, refusals }
}
