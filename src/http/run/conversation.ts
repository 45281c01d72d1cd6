import type { TokenizeRequest } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import type { GenerationRequest } from '../../contract/request.ts'

type Conversation = Pick<TokenizeRequest, 'reasoning' | 'toolChoice'> & {
  readonly prompt: Extract<GenerationRequest['prompt'], { type: 'chat' }>
}

/** What of a chat request its prompt depends on. */
export function conversationOf({ prompt, reasoning, toolChoice }: GenerationRequest): Conversation {
  if (prompt.type !== 'chat') throw new AppError('internal', 'a chat was not decoded to a chat prompt')
  return { prompt, reasoning, toolChoice }
}
