import type { Embedder, EngineCapabilities, Ranker, RenderRequest, TokenizeRequest, Tokenizer } from '../../contract/engine.ts'
import type { MediaConverter } from '../../contract/media.ts'
import { refuseTokensOfMedia } from '../shared/refuse-media.ts'
import type { WorkerRequest } from './channel/worker-requests.ts'
import { refuseUnknownIds } from './check-request.ts'
import { readableMedia } from './media.ts'
import type { LoadFacts } from './supervisor.ts'
import type { WorkerExchanges } from './worker-exchanges.ts'

type Deps = {
  readonly id: string
  readonly converter: MediaConverter | undefined
  readonly exchanges: Pick<WorkerExchanges, 'ask' | 'compute'>
  ready(signal: AbortSignal): Promise<LoadFacts>
}

/** The capabilities other than generating: each is a request to the worker, and its reply. */
export function createTextCapabilities({
  id,
  converter,
  exchanges,
  ready,
}: Deps): Required<Pick<EngineCapabilities, 'tokenizer' | 'embedder' | 'ranker'>> {
  const read = async ({ prompt, addBos, parseSpecial, ...rest }: TokenizeRequest, pieces: boolean, signal: AbortSignal) => {
    const { reads } = await ready(signal)
    const readable = readableMedia({ prompt }, { id, reads, converter }, signal)
    const asked = {
      type: 'tokenize',
      ...(readable instanceof Promise ? await readable : readable),
      ...renderOptions(rest),
      addBos,
      parseSpecial,
      pieces,
    } as const
    return exchanges.ask(asked, 'tokens', signal)
  }
  const tokenize: Tokenizer['tokenize'] = async (request, signal) => [...(await read(request, false, signal)).tokens]
  const tokenizer: Tokenizer = {
    checkTokens: refuseTokensOfMedia,
    tokenize,
    async pieces(request, signal) {
      const { tokens, pieces = [] } = await read(request, true, signal)
      return pieces.map((bytes, index) => ({ id: tokens[index] as number, bytes }))
    },
    count: async (request, signal) => (await tokenize(request, signal)).length,
    async detokenize({ tokens, special }, signal) {
      const { vocabularySize } = await ready(signal)
      refuseUnknownIds(tokens, { vocabularySize, at: ['tokens'] })
      const asked = { type: 'detokenize', tokens: Uint32Array.from(tokens), special } as const
      return (await exchanges.ask(asked, 'text', signal)).text
    },
    async render({ prompt, ...rest }, signal) {
      const { reads } = await ready(signal)
      const readable = await readableMedia({ prompt }, { id, reads, converter }, signal)
      return (await exchanges.ask({ type: 'render', ...readable, ...renderOptions(rest) }, 'text', signal)).text
    },
  }
  const embedder: Embedder = {
    async embed(inputs, signal) {
      const { vocabularySize } = await ready(signal)
      for (const [index, input] of inputs.entries()) {
        if (input.type === 'tokens') refuseUnknownIds(input.tokens, { vocabularySize, at: ['inputs', index] })
      }
      return exchanges.compute({ type: 'embed', inputs }, 'vectors', signal)
    },
  }
  const ranker: Ranker = {
    async rank({ query, texts }, signal) {
      await ready(signal)
      const request: WorkerRequest = { type: 'rank', texts: [...texts], ...(query !== undefined && { query }) }
      return exchanges.compute(request, 'scores', signal)
    },
  }
  return { tokenizer, embedder, ranker }
}

function renderOptions({ reasoning, toolChoice }: Pick<RenderRequest, 'reasoning' | 'toolChoice'>) {
  return { reasoning, ...(toolChoice !== undefined && { toolChoice }) }
}
