import { ChurnMap, ChurnSet } from '../base/churn.ts'
import type { ResidencyState, ResidentOptions } from '../contract/residency.ts'
import type { WishKind } from './events.ts'

/** A model, and its state in the rules. Times are those of the caller's clock. */
export type Member<Wish extends object> = {
  readonly key: string
  readonly id: string
  readonly isPinned: boolean
  readonly idleTtlMs: number | undefined
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
  readonly users: ChurnSet<Wish>
  /** Those who want it, in the order in which they came. */
  readonly waiting: ChurnMap<Wish, { readonly kind: WishKind; readonly sinceMs: number }>
  /** Loads begun and ended; the failure of an earlier load is old news. */
  attempt: number
  /** All wishes for it ended while its files were being fetched. */
  isUnwanted: boolean
  /** It grants no wishes until it is unloaded: for another model's memory, or by a command. */
  closedFor: 'memory' | 'command' | undefined
  /** It has been unloaded, or left for later: requests load it. */
  comesAndGoes: boolean
}

export function newMember<Wish extends object>(
  key: string,
  { id, isPinned, idleTtlMs }: Omit<ResidentOptions, 'engine'>,
  nowMs: number,
): Member<Wish> {
  return {
    key,
    id,
    isPinned,
    idleTtlMs,
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
export function enterPhase<Wish extends object>(member: Member<Wish>, phase: ResidencyState, nowMs: number): void {
  member.phase = phase
  member.sinceMs = nowMs
  switch (phase) {
    case 'absent':
      member.holdsMemory = false
      member.readyAtMs = undefined
      member.isUnwanted = false
      member.closedFor = undefined
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
export function wantedSinceMs<Wish extends object>({ waiting, sinceMs }: Member<Wish>): number {
  const [first] = waiting.values()
  return first === undefined ? sinceMs : Math.min(first.sinceMs, sinceMs)
}

/** None of its wishes may unload another model. */
export function isModest<Wish extends object>({ waiting, isUnwanted }: Member<Wish>): boolean {
  return isUnwanted || (waiting.size > 0 && [...waiting.values()].every(({ kind }) => kind === 'preload'))
}
