import { AppError } from '../contract/errors.ts'

/** The conversations that responses write to: one at a time, as with OpenAI, since each must see what the one before it said. */
export class ConversationLocks {
  readonly #locked = new Set<string>()

  /** Returns what unlocks it. Throws `conversation-locked`. */
  lock(owner: string, id: string): () => void {
    const key = JSON.stringify([owner, id])
    if (this.#locked.has(key)) {
      const message = `another response is being generated in conversation '${id}'; wait until it has ended, or cancel it`
      throw new AppError('conversation-locked', message, { param: 'conversation' })
    }
    this.#locked.add(key)
    return () => this.#locked.delete(key)
  }
}
