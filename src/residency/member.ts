import { ChurnMap, ChurnSet } from '../base/churn.ts'
import type { ResidencyState, ResidentOptions } from '../contract/residency.ts'
import type { ClaimKind } from './events.ts'

/** A model and its state in the rules. Times are on the caller's clock. */
export type Member<Claim extends object> = {
  readonly key: string
  readonly id: string
  readonly isPinned: boolean
  readonly idleTtlMs: number | undefined
  /** The idle time that a request has set, until the model is unloaded. */
  keptMs: number | undefined
  phase: ResidencyState
  sinceMs: number
  /** The memory that it needs, known after its first load. */
  bytes: number
  /** Its memory is in use, or being freed. */
  holdsMemory: boolean
  admittedAtMs: number
  /** Absent until its process is ready. */
  readyAtMs: number | undefined
  lastUsedMs: number
  /** The claims that use the model. */
  readonly users: ChurnSet<Claim>
  /** The claims that wait for the model, in order of arrival. */
  readonly waiting: ChurnMap<Claim, { readonly kind: ClaimKind; readonly sinceMs: number }>
  /** Counts starts and ends of loads, so that the failure of an earlier load can be ignored. */
  attempt: number
  /** All claims ended while the model's files were being fetched. */
  isUnwanted: boolean
  /** Grants no claims until it is unloaded: for another model's memory, or by a command. */
  closedFor: 'memory' | 'command' | undefined
  /** The model was unloaded or left for later, so requests load it. */
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

/** Since when the model has been wanted without interruption. */
export function wantedSinceMs<Claim extends object>({ waiting, sinceMs }: Member<Claim>): number {
  const [first] = waiting.values()
  return first === undefined ? sinceMs : Math.min(first.sinceMs, sinceMs)
}

/** Whether no claim may unload another model for it. */
export function isModest<Claim extends object>({ waiting, isUnwanted }: Member<Claim>): boolean {
  return isUnwanted || (waiting.size > 0 && [...waiting.values()].every(({ kind }) => kind === 'preload'))
}
