import { textOf } from '../canonical/parts.ts'
import type { RequestContext } from '../contract/context.ts'
import { AppError } from '../contract/errors.ts'
import type { Usage } from '../contract/event.ts'
import { isTruncated } from '../contract/is-truncated.ts'
import type { GenerationRequest } from '../contract/request.ts'
import { foldEvents } from '../contract/result.ts'
import { generate } from '../core/generate.ts'
import { countTokens } from '../core/uses/count-tokens.ts'
import type { DecodedResponse } from '../dialect/openai-responses/decode.ts'
import { createCompaction, summaryRequest } from '../dialect/openai-responses/encode/compaction.ts'
import type { MadeItem } from '../dialect/openai-responses/replies.ts'
import type { ResponsesDeps } from './deps.ts'

/** The item that replaces a conversation, and its cost. */
export type Compaction = { readonly item: MadeItem; readonly usage: Usage }

/** The compaction of a conversation, and the call with it in place of the conversation. */
export type CompactedLong = Compaction & { readonly decoded: DecodedResponse }

/** Lets the model summarise a conversation. Rejects with `invalid-output` without a complete summary. */
export async function compact(deps: ResponsesDeps, request: GenerationRequest, context: RequestContext): Promise<Compaction> {
  const { choices, usage } = await foldEvents(generate(deps, [summaryRequest(request)], context))
  const [choice] = choices
  const summary = choice === undefined ? '' : textOf(choice.parts).trim()
  if (choice === undefined || summary === '' || isTruncated(choice.finish)) {
    const problem = summary === '' ? 'wrote no summary' : `did not finish its summary (${choice?.finish.reason})`
    throw new AppError(
      'invalid-output',
      `the conversation was not compacted: the model ${problem}; try again, or shorten the input`,
    )
  }
  return { item: createCompaction(summary, deps.sealerOf(context.principal.id)), usage }
}

/** The compaction of a conversation that exceeds its request's threshold; undefined for others, and if no turn can go. */
export async function compactLong(
  deps: ResponsesDeps,
  { request, compactThreshold, compacted, withoutOldest }: DecodedResponse,
  context: RequestContext,
): Promise<CompactedLong | undefined> {
  const { prompt, reasoning, toolChoice, toolUse } = request
  if (compactThreshold === undefined || prompt.type !== 'chat' || withoutOldest(1) === undefined) return undefined
  const { inputTokens } = await countTokens(deps, { prompt, reasoning, toolChoice, toolUse }, context)
  if (inputTokens <= compactThreshold) return undefined
  const compaction = await compact(deps, request, context)
  const decoded = compacted(compaction.item)
  return decoded === undefined ? undefined : { ...compaction, decoded }
}
