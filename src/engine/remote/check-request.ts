import type { PreparedGeneration } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import type { GrammarCompiler } from '../../threads/grammar-compiler.ts'
import type { Replicas } from './fleet/replicas.ts'
import type { RemoteEngineOptions } from './options.ts'
import { type CountedRequest, checkUpstream, isCapabilityError, mostHelpful } from './servers/check-upstream.ts'
import type { Upstream } from './servers/upstream.ts'
import type { UpstreamBody } from './wire/body/chat-body.ts'
import { requestBody } from './wire/body/request-body.ts'

export type CheckedRequest = {
  /** The first upstream that supports the request. */
  readonly upstream: Upstream
  readonly body: UpstreamBody
  /** Why the upstreams before it refused. */
  readonly refusals: ReadonlyMap<Upstream, AppError>
}

type Fleet = { readonly replicas: Pick<Replicas, 'upstreams'>; readonly grammars: Pick<GrammarCompiler, 'compile'> }

/**
 * Writes the request for the first upstream that supports it; the others are not checked. If no upstream does, rejects as `checkUpstream`
 * and `requestBody` do, with the most helpful refusal.
 */
export async function checkRequest(counted: CountedRequest, { replicas, grammars }: Fleet): Promise<CheckedRequest> {
  const { request } = counted
  let compiled: ReturnType<GrammarCompiler['compile']> | undefined
  // One grammar for all upstreams: a compilation that took too long is not repeated for the next one.
  const once: typeof grammars = {
    compile: (grammarRequest) => {
      compiled ??= grammars.compile(grammarRequest)
      return compiled
    },
  }
  const refusals = new Map<Upstream, AppError>()
  for (const upstream of replicas.upstreams) {
    try {
      checkUpstream(counted, upstream)
      const body = requestBody(request, upstream, once)
      return { upstream, body: body instanceof Promise ? await body : body, refusals }
    } catch (error) {
      if (!isCapabilityError(error)) throw error
      refusals.set(upstream, error)
    }
  }
  throw mostHelpful(refusals.values()) ?? new AppError('model-unavailable', 'none of the servers behind this model is known')
}

/**
 * How strictly the constraint of a request is enforced. If somebody else's server, or one behind a router, enforces it, only the output
 * shows whether it did.
 */
export function enforcementOf(
  { structured }: UpstreamBody,
  { isOwnServer }: Pick<RemoteEngineOptions, 'isOwnServer'>,
): Pick<PreparedGeneration, 'structured' | 'constraintIsSent'> {
  if (structured === undefined) return {}
  return { structured: isOwnServer === true ? structured : 'partial', constraintIsSent: true }
}
