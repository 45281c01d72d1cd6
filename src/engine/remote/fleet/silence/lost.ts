/** A request that waits for its replica. */
export type Waited = {
  readonly beganMs: number
  readonly hasToken: boolean
  /** When bytes were last seen to arrive. */
  readonly progressMs: number | undefined
  /** Its replica has left the fleet. */
  readonly hasLeft: boolean
}

export type Situation = {
  readonly nowMs: number
  readonly isEjected: boolean
  /** When the replica last failed a check or refused a connection, unless it has replied since. */
  readonly downMs: number | undefined
  /** A check has waited longer than checks take, and nothing else has come from the replica. */
  readonly isCheckOverdue: boolean
  /** The replica has given nobody anything for longer than this request may wait, while others have given tokens. */
  readonly isMute: boolean
  /** A reply that has begun is lost when no bytes have come for this time. */
  readonly stalledMs: number
  /** The 95th percentile of the time to the first token of such requests. */
  readonly p95Ms: number
}

/** How long a replica may give nobody anything before its requests are lost. */
export type Patience = { readonly times: number; readonly leastMs: number }

/** It reads prompts beside generating, so somebody gets a token all the time. */
export const batching: Patience = { times: 3, leastMs: 5000 }
/** While it reads one prompt, loads a model or thinks, nobody may get anything from it. */
export const unbatched: Patience = { times: 10, leastMs: 120_000 }

/** A reply that made progress is left alone until no bytes have come for this time. */
const progressHoldsMs = 10_000

/**
 * Whether a request is lost, and should move to another replica. The first case that fits decides:
 *
 * 1. Bytes have come lately: no.
 * 2. Its replica has left the fleet, and the first token is missing: yes.
 * 3. Its replica cannot be reached, and is ejected: yes, even if the reply has begun.
 * 4. Its replica gives nobody anything, while others give tokens: yes, even if the reply has begun, and the checks are good.
 * 5. The reply has begun: yes if it has stopped for very long, else no.
 * 6. Its replica has failed a check, or has one that is overdue, and the request has waited twice the usual time: yes.
 * 7. Otherwise no: a slow prompt on a replica that lives is left alone.
 */
export function isLost({ beganMs, hasToken, progressMs, hasLeft }: Waited, situation: Situation): boolean {
  const { nowMs, isEjected, downMs, isCheckOverdue, isMute, stalledMs, p95Ms } = situation
  const silentMs = nowMs - (progressMs ?? beganMs)
  const holdsMs = hasToken ? Math.min(progressHoldsMs, stalledMs) : progressHoldsMs
  if (progressMs !== undefined && silentMs < holdsMs) return false // Case 1
  if (hasLeft && !hasToken) return true // Case 2
  const isDown = downMs !== undefined && downMs >= beganMs
  if ((isDown && isEjected) || isMute) return true // Cases 3 and 4
  if (hasToken) return silentMs >= stalledMs // Case 5
  return (isDown || isCheckOverdue) && silentMs >= 2 * p95Ms // Cases 6 and 7
}

/** How long a replica may give nobody anything while a request waits. `p95Ms`: of reading its whole prompt; undefined if nothing is known. */
export function patienceMs(
  { hasToken }: Pick<Waited, 'hasToken'>,
  { times, leastMs }: Patience,
  p95Ms: number | undefined,
): number {
  return hasToken || p95Ms === undefined ? leastMs : Math.max(leastMs, times * p95Ms)
}
