import type { SentRequest } from '../servers/check-upstream.ts'
import type { Profile } from '../servers/profile.ts'
import type { Upstream } from '../servers/upstream.ts'
import { UpstreamError } from '../transport/upstream-error.ts'

/** The servers whose compiler takes no grammars, as their operator has chosen it. A server that changes gets a new upstream object. */
const withoutCompiler = new WeakSet<Upstream>()
const plainOf = new WeakMap<Upstream, Upstream>()

/**
 * Exchanges a request whose output we constrain by a grammar of ours, and again in the server's own form if it refuses that, which vLLM
 * does in the stream. `exchange` gets the upstream whose form the request is written in.
 */
export function sendConstrained<T>(
  { output, answer }: Pick<SentRequest, 'output' | 'answer'>,
  upstream: Upstream,
  exchange: (upstream: Upstream) => Promise<T>,
  hasBegun: () => boolean,
): Promise<T> {
  const { gbnf, takesOurGrammars } = upstream.profile
  const isConstrained = (output.type !== 'text' && output.type !== 'gbnf') || answer !== undefined
  if (!isConstrained || gbnf === undefined || takesOurGrammars === true) return exchange(upstream)
  if (withoutCompiler.has(upstream)) return exchange(withoutGrammars(upstream))
  return exchange(upstream).catch((error: unknown) => {
    if (hasBegun() || !refusesGrammar(error)) throw error
    if (/not support/i.test(error.message)) withoutCompiler.add(upstream)
    return exchange(withoutGrammars(upstream))
  })
}

function withoutGrammars(upstream: Upstream): Upstream {
  const { gbnf: _, prefersGrammars: __, ...profile }: Profile = upstream.profile
  const plain = plainOf.get(upstream) ?? { ...upstream, profile }
  plainOf.set(upstream, plain)
  return plain
}

function refusesGrammar(error: unknown): error is UpstreamError {
  if (!(error instanceof UpstreamError) || error.failure.type !== 'status') return false
  return (error.failure.status === 400 || error.failure.status === 422) && /grammar/i.test(error.message)
}
