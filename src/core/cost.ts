import type { RequestContext } from '../contract/context.ts'
import type { PreparedGeneration } from '../contract/engine.ts'
import type { GenerationRequest } from '../contract/request.ts'
import type { RequestCost } from '../contract/scheduler.ts'
import { estimatePrompt } from './estimate-tokens.ts'

/** What a request may cost, with those that come after it on the same ticket. */
export function costOf(
  request: GenerationRequest,
  { inputTokens }: Pick<PreparedGeneration, 'inputTokens'>,
  { later, principal }: { readonly later: readonly GenerationRequest[] } & Pick<RequestContext, 'principal'>,
): RequestCost {
  // Estimates take time, and matter where there is a limit.
  const isLimited = principal.quota?.tokensPerMinute !== undefined
  const first = inputTokens ?? (isLimited ? estimatePrompt(request.prompt) : undefined)
  const others = isLimited ? later.reduce((sum, { prompt }) => sum + estimatePrompt(prompt), 0) : 0
  let maxOutputTokens: number | undefined = 0
  for (const { maxOutputTokens: max, choices } of [request, ...later]) {
    maxOutputTokens = max === undefined || maxOutputTokens === undefined ? undefined : maxOutputTokens + max * choices
  }
  return {
    ...(first !== undefined && { inputTokens: first + others }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
  }
}
