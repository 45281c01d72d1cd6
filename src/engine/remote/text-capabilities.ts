import type {
  CalledFor,
  EmbedInput,
  EngineCapabilities,
  RenderRequest,
  TokenizeRequest,
  Tokenizer,
} from '../../contract/engine.ts'
import type { Prompt } from '../../contract/request.ts'
import { refuseTokensOfMedia } from '../shared/refuse-media.ts'
import type { UpstreamAccess } from './servers/upstream.ts'
import { embedRemotely, queryOf, rankRemotely } from './wire/embeddings.ts'
import { sendFolded } from './wire/send-folded.ts'
import { countRemotely, detokenizeRemotely, piecesRemotely, renderRemotely, tokenizeRemotely } from './wire/tokenizer.ts'

/** `tokens`: the likely cost of a call. `promptTokens`: the size of what it sends, in characters. */
type Load = CalledFor & { readonly tokens: number; readonly promptTokens: number; readonly call: string }

const charsPerToken = 4

type Deps = {
  /** The text of a conversation that is rendered here. Undefined if the servers render it. */
  ownText(request: RenderRequest, signal: AbortSignal): Promise<string | undefined>
  /** The request as it is sent: with media that the servers can decode, in a form that their template renders. */
  adapt<R extends { readonly prompt: Prompt }>(request: R, signal: AbortSignal): Promise<R>
  /** A call that takes no slot, to any replica. */
  ask<T>(signal: AbortSignal, call: (access: UpstreamAccess) => Promise<T>): Promise<T>
  compute<T>(load: Load, signal: AbortSignal, call: (access: UpstreamAccess) => Promise<T>): Promise<T>
}

/** The features of replicas besides generating. */
export function createTextCapabilities({
  ownText,
  adapt,
  ask,
  compute,
}: Deps): Required<Pick<EngineCapabilities, 'tokenizer' | 'embedder' | 'ranker'>> {
  const asSent = async (given: TokenizeRequest, signal: AbortSignal): Promise<TokenizeRequest> => {
    const request = await adapt(given, signal)
    const { prompt } = request
    const text = prompt.type === 'chat' ? await ownText({ ...request, prompt }, signal) : undefined
    return text === undefined ? request : { ...request, prompt: { type: 'text', text } }
  }
  /** In the form that the replica accepts. */
  const askFor = <R extends { readonly prompt: Prompt }, T>(
    request: R,
    signal: AbortSignal,
    call: (request: R, access: UpstreamAccess) => Promise<T>,
  ): Promise<T> => ask(signal, (access) => sendFolded(request, access.upstream, (folded) => call(folded, access)))
  const tokenizer: Tokenizer = {
    checkTokens: refuseTokensOfMedia,
    tokenize: async (request, signal) => {
      const sent = await asSent(request, signal)
      return askFor(sent, signal, tokenizeRemotely)
    },
    pieces: async (request, signal) => {
      const sent = await asSent(request, signal)
      return askFor(sent, signal, piecesRemotely)
    },
    count: async (request, signal) => {
      const sent = await asSent(request, signal)
      return askFor(sent, signal, countRemotely)
    },
    detokenize: (request, signal) => ask(signal, (access) => detokenizeRemotely(request, access)),
    render: async (given, signal) => {
      const request = await adapt(given, signal)
      return (await ownText(request, signal)) ?? askFor(request, signal, renderRemotely)
    },
  }
  return {
    tokenizer,
    embedder: {
      embed: (inputs, signal, calledFor) =>
        compute(
          { tokens: inputs.length, promptTokens: sizeOf(inputs.map(charsIn)), call: 'embeddings', ...calledFor },
          signal,
          (access) => embedRemotely(inputs, access),
        ),
    },
    ranker: {
      rank: async (request, signal, calledFor) => {
        const { texts } = request
        const query = queryOf(request)
        const promptTokens = sizeOf(texts.map(({ length }) => query.length + length))
        return compute({ tokens: texts.length, promptTokens, call: 'rerank', ...calledFor }, signal, (access) =>
          rankRemotely({ query, texts }, access),
        )
      },
    },
  }
}

function charsIn(input: EmbedInput): number {
  return input.type === 'text' ? input.text.length : input.tokens.length * charsPerToken
}

function sizeOf(lengths: readonly number[]): number {
  return lengths.reduce((sum, length) => sum + length, 0)
}
