import type { RequestContext } from '../../contract/context.ts'
import type { TokenizeRequest } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import type { MediaReader } from '../../contract/media.ts'
import { estimatePrompt } from '../estimate-tokens.ts'
import { withMedia } from '../media/with-media.ts'
import { asEnginesGetIt, withTokenizerFor } from './use-tokenizer.ts'

/** The tokens of a prompt; an estimate where the engine has no tokenizer that we can use. */
export type TokenCount = { readonly inputTokens: number; readonly isEstimate: boolean }

type CountRequest = Pick<TokenizeRequest, 'reasoning' | 'toolChoice'> & {
  readonly prompt: Extract<TokenizeRequest['prompt'], { type: 'chat' }>
}

/** Counts the prompt of a conversation. Rejects with `queue-full` and the engine's refusals of the conversation. */
export async function countTokens(
  deps: { readonly media?: MediaReader },
  request: CountRequest,
  context: RequestContext,
): Promise<TokenCount> {
  // With the sizes of its media, as soon as they are known.
  let read = request
  try {
    const inputTokens = await withTokenizerFor(deps, { request, context }, (tokenizer) =>
      withMedia(deps, { request, caller: context }, async (complete) => {
        read = complete
        return tokenizer.count({ addBos: true, parseSpecial: true, ...asEnginesGetIt(complete, context) }, context.signal)
      }),
    )
    return { inputTokens, isEstimate: false }
  } catch (error) {
    if (!hasNoTokenizer(error)) throw error
    return { inputTokens: estimatePrompt(read.prompt), isEstimate: true }
  }
}

/** A model that is down is another matter. */
function hasNoTokenizer(error: unknown): boolean {
  if (!(error instanceof AppError) || error.at?.[0] !== 'model') return false
  return error.code === 'unsupported-field' || error.code === 'invalid-request'
}
