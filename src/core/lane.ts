import type { RequestContext } from '../contract/context.ts'
import type { GenerationRequest } from '../contract/request.ts'

/** A context with the lane that its request asks for: OpenAI's `flex` tier is slower, and may wait. */
export function inLane(context: RequestContext, { forwarded }: GenerationRequest): RequestContext {
  return context.lane === undefined && forwarded?.serviceTier === 'flex' ? { lane: 'background', ...context } : context
}
