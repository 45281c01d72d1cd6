import { z } from 'zod'
import type { Bus, Topic } from '../../contract/server/shared.ts'

const decisionSchema = z.object({
  callId: z.string(),
  by: z.string(),
  isAdmin: z.boolean(),
  isApproved: z.boolean(),
  reason: z.string().exactOptional(),
})
/** The decision of a caller, `by`, about a call that waits for its approval. */
type CallDecision = z.output<typeof decisionSchema>
type Decision = Pick<CallDecision, 'isApproved' | 'reason'>

/** Each process answers whether the call waited in it. */
const decisionTopic: Topic<CallDecision, boolean> = { name: 'decisions', message: decisionSchema, answer: z.boolean() }

type Waiting = { readonly owner: string; decide(decision: Decision): void }

/** Calls that wait for their callers' approval, by id. */
export class ToolApprovals {
  readonly #waiting = new Map<string, Waiting>()
  readonly #everyone: Bus | undefined

  /** `everyone`: all processes with the same store. */
  constructor(everyone?: Bus) {
    this.#everyone = everyone
    void everyone?.subscribe(decisionTopic, (decision) => this.decide(decision))
  }

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

  /** The same, wherever it waits. */
  async decideAnywhere(decision: CallDecision): Promise<boolean> {
    return this.decide(decision) || (await this.#everyone?.publish(decisionTopic, decision))?.includes(true) === true
  }

  get size(): number {
    return this.#waiting.size
  }
}
