import { AppError } from '../contract/errors.ts'
import type { Lock, Shared } from '../contract/server/shared.ts'
import { BackgroundResponses } from './background.ts'
import type { ResponsesDeps } from './deps.ts'

/** The dependencies of operations on responses, and the responses that run in this process. */
export type ResponsesService = ResponsesDeps & {
  readonly background: BackgroundResponses
  readonly locks: ConversationLocks
}

export function createResponsesService(deps: ResponsesDeps): ResponsesService {
  return { ...deps, background: new BackgroundResponses(deps), locks: new ConversationLocks(deps.everyone) }
}

/** The conversations that responses write to: one at a time, as with OpenAI, since each must see the previous one's output. */
class ConversationLocks {
  readonly #locked = new Set<string>()
  readonly #everyone: Pick<Shared, 'lock'> | undefined

  /** `everyone`: also locks a conversation for other processes. */
  constructor(everyone?: Pick<Shared, 'lock'>) {
    this.#everyone = everyone
  }

  /** Resolves with the function that unlocks it. Rejects with `conversation-locked`. */
  async lock(owner: string, id: string): Promise<Lock> {
    const key = JSON.stringify([owner, id])
    if (this.#locked.has(key)) throw conversationLocked(id)
    this.#locked.add(key)
    const unlockHere = () => void this.#locked.delete(key)
    if (this.#everyone === undefined) return unlockHere
    let unlockElsewhere: Lock | undefined
    try {
      unlockElsewhere = await this.#everyone.lock(key)
    } finally {
      if (unlockElsewhere === undefined) unlockHere()
    }
    if (unlockElsewhere === undefined) throw conversationLocked(id)
    return () => {
      unlockElsewhere()
      unlockHere()
    }
  }
}

function conversationLocked(id: string): AppError {
  const message = `another response is being generated in conversation '${id}'; wait until it has ended, or cancel it`
  return new AppError('conversation-locked', message, { param: 'conversation' })
}
