import type { Engine, EngineCapabilities } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import { refuseTokensOfMedia } from '../shared/refuse-media.ts'

type Deps = {
  readonly id: string
  /** Asks the current server, and once more if it was killed from outside. */
  ask<T>(question: (upstream: Engine) => Promise<T>, signal: AbortSignal): Promise<T>
}

/** The capabilities of a llama-server, through the engine that talks to it. */
export function createUpstreamCapabilities({
  id,
  ask,
}: Deps): Required<Pick<EngineCapabilities, 'tokenizer' | 'embedder' | 'ranker'>> {
  const use = <Name extends keyof EngineCapabilities, T>(
    name: Name,
    signal: AbortSignal,
    question: (capability: NonNullable<EngineCapabilities[Name]>) => Promise<T>,
  ): Promise<T> =>
    ask(({ capabilities }) => {
      const capability = capabilities[name]
      if (capability === undefined) throw cannot(id, name)
      return question(capability)
    }, signal)
  return {
    tokenizer: {
      checkTokens: refuseTokensOfMedia,
      tokenize: (request, signal) => use('tokenizer', signal, (tokenizer) => tokenizer.tokenize(request, signal)),
      count: (request, signal) => use('tokenizer', signal, (tokenizer) => tokenizer.count(request, signal)),
      detokenize: (request, signal) => use('tokenizer', signal, (tokenizer) => tokenizer.detokenize(request, signal)),
      render: (request, signal) => use('tokenizer', signal, (tokenizer) => tokenizer.render(request, signal)),
    },
    embedder: { embed: (inputs, signal) => use('embedder', signal, (embedder) => embedder.embed(inputs, signal)) },
    ranker: { rank: (request, signal) => use('ranker', signal, (ranker) => ranker.rank(request, signal)) },
  }
}

function cannot(id: string, name: string): AppError {
  return new AppError('unsupported-field', `model '${id}' runs on a llama-server without a ${name}`, { at: ['model'] })
}
