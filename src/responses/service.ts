import { AppError } from '../contract/errors.ts'
import type { Lock } from '../contract/store.ts'
import { BackgroundResponses } from './background.ts'
import type { ResponsesDeps } from './deps.ts'

/** The dependencies of operations on responses, and the responses that run in this process. */
export type ResponsesService = ResponsesDeps & {
  readonly background: BackgroundResponses
  readonly locks: ConversationLocks
}

export function createResponsesService(deps: ResponsesDeps): ResponsesService {
  // Processes that share a store include those of one server.
  const lockElsewhere = deps.store?.lock ?? deps.siblings?.lock.bind(deps.siblings)
  return { ...deps, background: new BackgroundResponses(deps), locks: new ConversationLocks(lockElsewhere) }
}

type LockElsewhere = (name: string) => Promise<Lock | undefined>

/** The conversations that responses write to: one at a time, as with OpenAI, since each must see the previous one's output. */
class ConversationLocks {
  readonly #locked = new Set<string>()
  readonly #lockElsewhere: LockElsewhere | undefined

  /** `lockElsewhere`: also locks a conversation for other processes. */
  constructor(lockElsewhere?: LockElsewhere) {
    this.#lockElsewhere = lockElsewhere
  }

  /** Resolves with the function that unlocks it. Rejects with `conversation-locked`. */
  async lock(owner: string, id: string): Promise<Lock> {
    const key = JSON.stringify([owner, id])
    if (this.#locked.has(key)) throw conversationLocked(id)
    this.#locked.add(key)
    const unlockHere = () => void this.#locked.delete(key)
    if (this.#lockElsewhere === undefined) return unlockHere
    let unlockElsewhere: Lock | undefined
    try {
      unlockElsewhere = await this.#lockElsewhere(key)
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
