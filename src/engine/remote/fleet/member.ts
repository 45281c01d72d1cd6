import type { Breaker } from './breaker.ts'

/** `weight` is above 0: weight 2 takes twice the tokens of weight 1. */
export type PoolEndpoint = {
  readonly id: string
  readonly weight: number
  /** It is in another zone. */
  readonly isFar?: true
  /** It is a router: it balances over servers of its own. */
  readonly isRouter?: true
  /** The kind of source that listed it. */
  readonly source?: string
}

export type Member<Endpoint extends PoolEndpoint = PoolEndpoint> = {
  readonly endpoint: Endpoint
  /** Identifies it in the prefix memory. */
  readonly number: number
  readonly breaker: Breaker
  weight: number
  /** A probe was successful. */
  isKnown: boolean
  /** It gets no new requests. */
  isDraining: boolean
  isRemoved: boolean
  /** It is in another zone: used while those of this zone have more to do. */
  isFar: boolean
  activeRequests: number
  outstandingTokens: number
  /** The likely tokens of other processes' requests, as the endpoint last reported. Undefined: it reports nothing. */
  foreignTokens: number | undefined
  /** It has reported that hardly any memory is left for prompts or, where servers in other zones may be used, that requests wait. */
  isFull: boolean
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
  /** When its next check is due. A success since then may have postponed it. */
  checkAtMs: number
  /** Counts leases: of equally loaded endpoints, the one whose last lease is oldest is next. */
  lastTurn: number
}

/** Outstanding tokens, of all processes as far as they are known. */
export function tokensOf({ outstandingTokens, foreignTokens = 0 }: Pick<Member, 'outstandingTokens' | 'foreignTokens'>): number {
  return outstandingTokens + foreignTokens
}

/** Outstanding tokens by weight. */
export function loadOf(member: Pick<Member, 'outstandingTokens' | 'foreignTokens' | 'weight'>): number {
  return tokensOf(member) / member.weight
}
