import { AppError } from '../../contract/errors.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import type { CountRequest } from '../../core/uses/count-tokens.ts'

/** The parts of a chat request that its prompt depends on. */
export function conversationOf({ prompt, reasoning, toolChoice, toolUse }: GenerationRequest): CountRequest {
  if (prompt.type !== 'chat') throw new AppError('internal', 'a chat was not decoded to a chat prompt')
  return { prompt, reasoning, toolChoice, ...(toolUse !== undefined && { toolUse }) }
}
