import type { CallDecision } from '../../contract/server/siblings.ts'

type Decision = Pick<CallDecision, 'isApproved' | 'reason'>

type Waiting = { readonly owner: string; decide(decision: Decision): void }

/** Calls that wait for their callers' approval, by id. */
export class ToolApprovals {
  readonly #waiting = new Map<string, Waiting>()

  /** Resolves with the decision; rejects with the signal's reason. */
  wait({ callId, owner }: { readonly callId: string; readonly owner: string }, signal: AbortSignal): Promise<Decision> {
    return new Promise((resolve, reject) => {
      const end = () => {
        this.#waiting.delete(callId)
        signal.removeEventListener('abort', leave)
      }
      const leave = () => {
        end()
        reject(signal.reason)
      }
      const decide = (decision: Decision) => {
        end()
        resolve(decision)
      }
      if (signal.aborted) return reject(signal.reason)
      signal.addEventListener('abort', leave, { once: true })
      this.#waiting.set(callId, { owner, decide })
    })
  }

  /** Decides a call of this caller. False: no such call waits. */
  decide({ callId, by, isAdmin, ...decision }: CallDecision): boolean {
    const waiting = this.#waiting.get(callId)
    if (waiting === undefined || (waiting.owner !== by && !isAdmin)) return false
    waiting.decide(decision)
    return true
  }

  get size(): number {
    return this.#waiting.size
  }
}
