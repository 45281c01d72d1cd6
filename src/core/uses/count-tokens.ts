import type { RequestContext } from '../../contract/context.ts'
import type { TokenizeRequest } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import type { ChatPrompt, ToolUse } from '../../contract/request.ts'
import { estimatePrompt } from '../estimate-tokens.ts'
import { withMedia } from '../media/with-media.ts'
import { withTemplate } from '../templates/with-template.ts'
import type { AnswerDeps } from '../tool-loop/deps.ts'
import { withServerTools } from '../tool-loop/first-prompt.ts'
import { asEnginesGetIt, withTokenizerFor } from './use-tokenizer.ts'

type TokenCount = { readonly inputTokens: number; readonly isEstimate: boolean }

/** A conversation, and its server tools. */
export type CountRequest = Pick<TokenizeRequest, 'reasoning' | 'toolChoice'> & {
  readonly prompt: ChatPrompt
  readonly toolUse?: ToolUse | undefined
}

/**
 * Counts the prompt of a conversation, with the server tools that it enables. Rejects with `queue-full`, the engine's refusals of the
 * conversation, and those of tools.
 */
export async function countTokens(
  deps: Pick<AnswerDeps, 'media' | 'templates' | 'tools' | 'wallClock'>,
  wanted: CountRequest,
  context: RequestContext,
): Promise<TokenCount> {
  const asked = await withTemplate(deps, wanted, context)
  const { toolUse: _, ...request } = await withServerTools(deps, asked, context)
  // Media have sizes as soon as they are read.
  let read: CountRequest = request
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

/** A model that is down does not count as one. */
function hasNoTokenizer(error: unknown): boolean {
  if (!(error instanceof AppError) || error.at?.[0] !== 'model') return false
  return error.code === 'unsupported-field' || error.code === 'invalid-request'
}
