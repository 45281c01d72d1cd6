import type { UsageCounter } from '../quota.ts'
import type { CancelBus, SharedCancel } from '../store.ts'
import type { ActivityQuestion, ProcessPage, RequestSnapshot } from './activity.ts'
import type { ReadPreset } from './sampling-preset.ts'

/** The operator's preset: one of the configuration, an own one, or none. */
export type PresetChoice =
  | { readonly type: 'named'; readonly name: string }
  | { readonly type: 'own'; readonly preset: ReadPreset }
  | { readonly type: 'none' }

/** An operator's change: whether a server of a model gets new requests. */
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

/** What a caller, `by`, decided about a call that waits for its approval. */
export type CallDecision = {
  readonly callId: string
  readonly isApproved: boolean
  readonly reason?: string
  readonly by: string
  readonly isAdmin: boolean
}

/** What the other processes of a server ask of one of them. */
export type SiblingDuties = {
  /** Returns how many requests it cancelled. */
  cancel(cancel: SharedCancel): number
  /** Whether the call waited in it. */
  decide(decision: CallDecision): boolean
  isReady(): boolean
  /** The metrics of this process, in a form that can be summed. */
  readMetrics(): Promise<readonly unknown[]>
  usePreset(choice: PresetChoice): void
  drain(change: DrainChange): void
  /** They need no check of this process for a while. */
  notePassed(checks: PassedChecks): void
  readActivity(question: ActivityQuestion): ProcessPage
  findRequest(id: string, owner: string | undefined): RequestSnapshot | undefined
}

/** The other processes of a server that listens with several, and what all of them share. */
export interface Siblings {
  /** Counts what keys use in all of them. */
  readonly usage: UsageCounter
  readonly cancels: CancelBus
  /** Undefined: another request has it. Call the result to give it up. */
  lock(name: string): Promise<(() => void) | undefined>
  /** Whether the call waited in one of the others. */
  decide(decision: CallDecision): Promise<boolean>
  /** The metrics of all processes together, as Prometheus' text. */
  renderMetrics(): Promise<string>
  areReady(): Promise<boolean>
  /** Resolves when all processes use it, this one included. */
  usePreset(choice: PresetChoice): Promise<void>
  /** Resolves when all processes do so, this one included. */
  drain(change: DrainChange): Promise<void>
  /** To the others, which may miss it. */
  tellPassed(checks: PassedChecks): void
  /** What each of the others has for a reader of requests. */
  readActivity(question: ActivityQuestion): Promise<readonly ProcessPage[]>
  /** A request of one of the others. */
  findRequest(id: string, owner: string | undefined): Promise<RequestSnapshot | undefined>
  /** Begins to do what the others ask. */
  join(duties: SiblingDuties): void
}
