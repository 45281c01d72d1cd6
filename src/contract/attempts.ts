import type { FinishReason, Usage } from './usage.ts'

/**
 * Where a request was sent. `known`: to a server that has read the prompt's longest known prefix. `home`: to the one where all processes
 * expect the conversation. `moved`: elsewhere, since these were too busy. `new`: anywhere; no server is known to have read any of it.
 */
export type AffinityOutcome = 'known' | 'home' | 'moved' | 'new'

/** One attempt at a request, at one server of a remote model. */
export type AttemptStart = {
  /** Its host and port. */
  readonly server: string
  /** Its kind, such as `vllm`. */
  readonly kind: string
  /** Its name for the model. */
  readonly model: string
  /** 0: the first attempt at the request; each repetition or continuation counts one more. */
  readonly retry: number
  /** Absent without a choice, or with affinity off. */
  readonly affinity?: AffinityOutcome
}

/**
 * `busy`: no room for the request now. `failed`: the server or the connection to it failed. `refused`: the request or its key was refused.
 * `cancelled`: the request was no longer wanted.
 */
export type AttemptOutcome = 'ok' | 'busy' | 'failed' | 'refused' | 'cancelled'

export type AttemptEnd = {
  readonly outcome: AttemptOutcome
  /** How it failed: an HTTP status, or a word such as `connection`; never a text of the server. */
  readonly error?: string
  /** From its start to the first event of the reply; absent without an event. */
  readonly firstChunkMs?: number
  /** The usage of the whole reply, even if another server had begun it. */
  readonly usage?: Usage
  readonly finishReasons?: readonly FinishReason[]
}

/**
 * Why a server gets no requests for a while: it cannot be reached, fails requests, fails its health checks, or gives nobody a token while
 * others do.
 */
export const ejectionReasons = ['unreachable', 'failures', 'health-check', 'silent'] as const

export type EjectionReason = (typeof ejectionReasons)[number]

/** Observes the attempts of one model, for metrics. */
export interface FleetObserver {
  attemptEnded(start: AttemptStart, end: AttemptEnd): void
  ejected(server: string, reason: EjectionReason): void
}
