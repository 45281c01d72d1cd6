import type { Breaker } from './breaker.ts'

/** `weight` is above 0: weight 2 takes twice the tokens of weight 1. */
export type PoolEndpoint = {
  readonly id: string
  readonly weight: number
  /** It has servers of its own, among which it chooses. */
  readonly isRouter?: true
  /** What named it. */
  readonly source?: string
}

/** What the pool knows of one endpoint. */
export type Member<Endpoint extends PoolEndpoint = PoolEndpoint> = {
  readonly endpoint: Endpoint
  /** Its name in the memory of prefixes. */
  readonly number: number
  readonly breaker: Breaker
  /** Its weight now. */
  weight: number
  /** It was probed successfully. */
  isKnown: boolean
  /** It gets no new requests. */
  isDraining: boolean
  isRemoved: boolean
  activeRequests: number
  outstandingTokens: number
  busyUntilMs: number
  lastFailure: string | undefined
  readonly addedMs: number
  /** From 0 to below 1: when in the first interval it is checked. */
  readonly phase: number
  lastSuccessMs: number
  lastCheckMs: number
  /** When another process last found it healthy. */
  heardMs: number
  isChecking: boolean
  /** When it is to be checked; a success since may have put that off. */
  checkAtMs: number
  /** Counts leases: of equally loaded endpoints, the one whose turn was longest ago is next. */
  lastTurn: number
}

/** Outstanding tokens by weight. */
export function loadOf({ outstandingTokens, weight }: Member): number {
  return outstandingTokens / weight
}
