import { BackgroundResponses } from './background.ts'
import { ConversationLocks } from './conversation-locks.ts'
import type { ResponsesDeps } from './deps.ts'

/** The dependencies of all that is done with responses, and what runs in this process. */
export type ResponsesService = ResponsesDeps & {
  readonly background: BackgroundResponses
  readonly locks: ConversationLocks
}

export function createResponsesService(deps: ResponsesDeps): ResponsesService {
  return { ...deps, background: new BackgroundResponses(deps), locks: new ConversationLocks(deps.siblings) }
}
