import { AppError } from '../contract/errors.ts'
import type { Siblings } from '../contract/siblings.ts'
import { BackgroundResponses } from './background.ts'
import type { ResponsesDeps } from './deps.ts'

/** The dependencies of all that is done with responses, and what runs in this process. */
export type ResponsesService = ResponsesDeps & {
  readonly background: BackgroundResponses
  readonly locks: ConversationLocks
}

export function createResponsesService(deps: ResponsesDeps): ResponsesService {
  return { ...deps, background: new BackgroundResponses(deps), locks: new ConversationLocks(deps.siblings) }
}

/** The conversations that responses write to: one at a time, as with OpenAI, since each must see what the one before it said. */
class ConversationLocks {
  readonly #locked = new Set<string>()
  readonly #siblings: Pick<Siblings, 'lock'> | undefined

  /** `siblings`: what other processes write to is locked as well. */
  constructor(siblings?: Pick<Siblings, 'lock'>) {
    this.#siblings = siblings
  }

  /** Resolves with what unlocks it. Rejects with `conversation-locked`. */
  async lock(owner: string, id: string): Promise<() => void> {
    const key = JSON.stringify([owner, id])
    const unlock = this.#siblings === undefined ? this.#lockHere(key) : await this.#siblings.lock(key)
    if (unlock === undefined) {
      const message = `another response is being generated in conversation '${id}'; wait until it has ended, or cancel it`
      throw new AppError('conversation-locked', message, { param: 'conversation' })
    }
    return unlock
  }

  #lockHere(key: string): (() => void) | undefined {
    if (this.#locked.has(key)) return undefined
    this.#locked.add(key)
    return () => this.#locked.delete(key)
  }
}
