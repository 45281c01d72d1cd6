import { ChurnMap, ChurnSet } from '../base/churn.ts'
import type { ResidencyState, ResidentOptions } from '../contract/residency.ts'
import type { ClaimKind } from './events.ts'

/** A model, and its state in the rules. Times are those of the caller's clock. */
export type Member<Claim extends object> = {
  readonly key: string
  readonly id: string
  readonly isPinned: boolean
  readonly idleTtlMs: number | undefined
  /** What a request has asked for in its place, until the model is unloaded. */
  keptMs: number | undefined
  phase: ResidencyState
  sinceMs: number
  /** What it needs, known from its first load on. */
  bytes: number
  /** Its memory is in use, or being freed. */
  holdsMemory: boolean
  admittedAtMs: number
  /** Absent before its process is ready. */
  readyAtMs: number | undefined
  lastUsedMs: number
  /** Those who use it. */
  readonly users: ChurnSet<Claim>
  /** Those who want it, in the order in which they came. */
  readonly waiting: ChurnMap<Claim, { readonly kind: ClaimKind; readonly sinceMs: number }>
  /** Loads begun and ended; the failure of an earlier load is old news. */
  attempt: number
  /** All claims for it ended while its files were being fetched. */
  isUnwanted: boolean
  /** It grants no claims until it is unloaded: for another model's memory, or by a command. */
  closedFor: 'memory' | 'command' | undefined
  /** It has been unloaded, or left for later: requests load it. */
  comesAndGoes: boolean
}

export function newMember<Claim extends object>(
  key: string,
  { id, isPinned, idleTtlMs }: Omit<ResidentOptions, 'engine'>,
  nowMs: number,
): Member<Claim> {
  return {
    key,
    id,
    isPinned,
    idleTtlMs,
    keptMs: undefined,
    phase: 'absent',
    sinceMs: nowMs,
    bytes: 0,
    holdsMemory: false,
    admittedAtMs: nowMs,
    readyAtMs: undefined,
    lastUsedMs: nowMs,
    users: new ChurnSet(),
    waiting: new ChurnMap(),
    attempt: 0,
    isUnwanted: false,
    closedFor: undefined,
    comesAndGoes: false,
  }
}

/** Changes the phase, and what depends on it. */
export function enterPhase<Claim extends object>(member: Member<Claim>, phase: ResidencyState, nowMs: number): void {
  member.phase = phase
  member.sinceMs = nowMs
  switch (phase) {
    case 'absent':
      member.holdsMemory = false
      member.readyAtMs = undefined
      member.isUnwanted = false
      member.closedFor = undefined
      member.keptMs = undefined
      break
    case 'loaded':
      member.holdsMemory = true
      member.admittedAtMs = nowMs
      break
    case 'starting':
    case 'waiting':
    case 'unloading':
      break
  }
}

/** Since when it is wanted, without a break. */
export function wantedSinceMs<Claim extends object>({ waiting, sinceMs }: Member<Claim>): number {
  const [first] = waiting.values()
  return first === undefined ? sinceMs : Math.min(first.sinceMs, sinceMs)
}

/** None of its claims may unload another model. */
export function isModest<Claim extends object>({ waiting, isUnwanted }: Member<Claim>): boolean {
  return isUnwanted || (waiting.size > 0 && [...waiting.values()].every(({ kind }) => kind === 'preload'))
}
