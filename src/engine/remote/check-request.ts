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
 * Writes the request for the first upstream that supports it; the others are not checked. If no upstream does, throws as `checkUpstream`
 * and `requestBody` do, with the most helpful refusal. A promise, which rejects likewise, if a grammar has to be compiled.
 */
export function checkRequest(
  counted: CountedRequest,
  { replicas: { upstreams }, grammars }: Fleet,
): CheckedRequest | Promise<CheckedRequest> {
  let compiled: ReturnType<GrammarCompiler['compile']> | undefined
  // One grammar for all upstreams: a compilation that took too long is not repeated for the next one.
  const once: typeof grammars = {
    compile: (grammarRequest) => {
      compiled ??= grammars.compile(grammarRequest)
      return compiled
    },
  }
  const refusals = new Map<Upstream, AppError>()
  const refuse = (upstream: Upstream, error: unknown) => {
    if (!isCapabilityError(error)) throw error
    refusals.set(upstream, error)
  }
  const checkFrom = (index: number): CheckedRequest | Promise<CheckedRequest> => {
    for (let at = index; at < upstreams.length; at++) {
      const upstream = upstreams[at] as Upstream
      try {
        checkUpstream(counted, upstream)
        const body = requestBody(counted.request, upstream, once)
        if (!(body instanceof Promise)) return { upstream, body, refusals }
        return body.then(
          (written) => ({ upstream, body: written, refusals }),
          (error: unknown) => {
            refuse(upstream, error)
            return checkFrom(at + 1)
          },
        )
      } catch (error) {
        refuse(upstream, error)
      }
    }
    throw mostHelpful(refusals.values()) ?? new AppError('model-unavailable', 'none of the servers behind this model is known')
  }
  return checkFrom(0)
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
