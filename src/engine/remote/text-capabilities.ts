import type { CallerKeys } from '../../contract/caller-keys.ts'
import type { EngineCapabilities, Tokenizer } from '../../contract/engine.ts'
import type { UpstreamAccess } from './servers/upstream.ts'
import { embedRemotely, queryOf, rankRemotely } from './wire/embeddings.ts'
import { countRemotely, detokenizeRemotely, renderRemotely, tokenizeRemotely } from './wire/tokenizer.ts'

/** `tokens`: the likely cost of a call. */
type Load = { readonly tokens: number; readonly callerKeys?: CallerKeys | undefined }

type Deps = {
  /** One call that costs no slot, by any replica. */
  ask<T>(signal: AbortSignal, call: (access: UpstreamAccess) => Promise<T>): Promise<T>
  /** One call that computes. */
  compute<T>(load: Load, signal: AbortSignal, call: (access: UpstreamAccess) => Promise<T>): Promise<T>
}

/** What replicas do besides generating. */
export function createTextCapabilities({
  ask,
  compute,
}: Deps): Required<Pick<EngineCapabilities, 'tokenizer' | 'embedder' | 'ranker'>> {
  const tokenize: Tokenizer['tokenize'] = (request, signal) => ask(signal, (access) => tokenizeRemotely(request, access))
  return {
    tokenizer: {
      tokenize,
      count: (request, signal) => ask(signal, (access) => countRemotely(request, access)),
      detokenize: (request, signal) => ask(signal, (access) => detokenizeRemotely(request, access)),
      render: (request, signal) => ask(signal, (access) => renderRemotely(request, access)),
    },
    embedder: {
      embed: (inputs, signal, callerKeys) =>
        compute({ tokens: inputs.length, callerKeys }, signal, (access) => embedRemotely(inputs, access)),
    },
    ranker: {
      rank: async (request, signal) => {
        const { texts } = request
        const query = queryOf(request)
        return compute({ tokens: texts.length }, signal, (access) => rankRemotely({ query, texts }, access))
      },
    },
  }
}
