import type { UsageCounter } from '../quota.ts'
import type { CancelBus, SharedCancel } from '../store.ts'
import type { ActivityQuestion, ProcessPage, RequestSnapshot } from './activity.ts'
import type { ReadPreset } from './sampling-preset.ts'

/** The operator's preset: a configured one, one sent in a request, or none. */
export type PresetChoice =
  | { readonly type: 'named'; readonly name: string }
  | { readonly type: 'own'; readonly preset: ReadPreset }
  | { readonly type: 'none' }

/** An operator's change: whether a model's server gets new requests. */
export type DrainChange = {
  /** The id of the model. */
  readonly model: string
  /** The URL of the server, as the model has it. */
  readonly url: string
  readonly isDraining: boolean
}

/** Servers of a model that have passed a health check. */
export type PassedChecks = {
  /** The id of the model. */
  readonly model: string
  readonly urls: readonly string[]
}

/** The decision of a caller, `by`, about a call that waits for its approval. */
export type CallDecision = {
  readonly callId: string
  readonly isApproved: boolean
  readonly reason?: string
  readonly by: string
  readonly isAdmin: boolean
}

/** The questions that one process of a server answers for the others. */
export type SiblingDuties = {
  /** Returns how many requests it cancelled. */
  cancel(cancel: SharedCancel): number
  /** Whether the call was waiting in this process. */
  decide(decision: CallDecision): boolean
  isReady(): boolean
  /** The metrics of this process, in a form that can be summed. */
  readMetrics(): Promise<readonly unknown[]>
  usePreset(choice: PresetChoice): void
  drain(change: DrainChange): void
  /** These servers need no health check by this process for a while. */
  notePassed(checks: PassedChecks): void
  readActivity(question: ActivityQuestion): ProcessPage
  findRequest(id: string, owner: string | undefined): RequestSnapshot | undefined
}

/** The other processes of a server with several, and the state that all of them share. */
export interface Siblings {
  /** Counts the use of keys in all processes. */
  readonly usage: UsageCounter
  readonly cancels: CancelBus
  /** Undefined: another request holds the lock. Call the result to release it. */
  lock(name: string): Promise<(() => void) | undefined>
  /** Whether the call was waiting in another process. */
  decide(decision: CallDecision): Promise<boolean>
  /** The metrics of all processes together, as Prometheus' text. */
  renderMetrics(): Promise<string>
  areReady(): Promise<boolean>
  /** Resolves when all processes, including this one, use it. */
  usePreset(choice: PresetChoice): Promise<void>
  /** Resolves when all processes, including this one, have applied it. */
  drain(change: DrainChange): Promise<void>
  /** Sent to the others without confirmation. */
  tellPassed(checks: PassedChecks): void
  /** The pages of the other processes for a reader of requests. */
  readActivity(question: ActivityQuestion): Promise<readonly ProcessPage[]>
  /** A request of one of the others. */
  findRequest(id: string, owner: string | undefined): Promise<RequestSnapshot | undefined>
  /** Begins to serve the other processes. */
  join(duties: SiblingDuties): void
}
