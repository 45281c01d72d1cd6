import { AppError } from '../contract/errors.ts'
import type { ResidentOptions } from '../contract/residency.ts'
import { type Candidate, chooseVictims, sumBytes } from './choose-victims.ts'
import type { ResidencyEffect, ResidencyEvent, UnloadReason } from './events.ts'
import { enterPhase, isModest, type Member, newMember, wantedSinceMs } from './member.ts'

export type ResidencyLimits = {
  readonly budgetBytes: number
  /** A loaded model may serve for this long before it makes room for another, or for as long as its load took if that is longer … */
  readonly minResidencyMs: number
  /** … unless it has been idle for this long, or for half of its load. */
  readonly idleGraceMs: number
  /** Models without an idle time of their own are unloaded after being idle for this long; absent: never. */
  readonly idleTtlMs?: number
}

export type Decision<Claim extends object> = {
  readonly effects: readonly ResidencyEffect<Claim>[]
  /** When to send a `tick` if nothing happens before; `Infinity`: never. */
  readonly wakeAtMs: number
}

/**
 * Decides which models are loaded. Those that fit together stay together. Otherwise idle ones go first; one in use goes after its minimum
 * residency: it finishes its requests, while new ones wait. So the wait for a model is bounded by the minimum residency, the requests
 * running at its end, and the loads. Memory goes to the model that has been wanted longest.
 */
export class ResidencyRules<Claim extends object> {
  #limits: ResidencyLimits
  readonly #members = new Map<string, Member<Claim>>()
  #effects: ResidencyEffect<Claim>[] = []
  #wakeAtMs = Number.POSITIVE_INFINITY

  constructor(limits: ResidencyLimits) {
    this.#limits = limits
  }

  get usedBytes(): number {
    return sumBytes(this.#all(({ holdsMemory }) => holdsMemory))
  }

  /** Adds a model; its returned state changes with each decision. */
  add(key: string, model: Omit<ResidentOptions, 'engine'>, nowMs: number): Readonly<Member<Claim>> {
    const member = newMember<Claim>(key, model, nowMs)
    this.#members.set(key, member)
    return member
  }

  remove(key: string, nowMs: number): Decision<Claim> {
    const member = this.#members.get(key)
    if (member !== undefined) this.#refuseAll(member, new AppError('model-unavailable', `model '${member.id}' has been removed`))
    this.#members.delete(key)
    return this.#settle(nowMs)
  }

  /** Sets new limits. Models beyond a smaller budget stay until another one needs their memory. */
  changeLimits(limits: ResidencyLimits, nowMs: number): Decision<Claim> {
    this.#limits = limits
    for (const member of this.#all(({ phase }) => phase === 'waiting')) this.#reserve(member, member.bytes, nowMs)
    return this.#settle(nowMs)
  }

  /** Decides on an event; one about an unknown model changes nothing. */
  decide(event: ResidencyEvent<Claim>, nowMs: number): Decision<Claim> {
    if (event.type !== 'tick') {
      const member = this.#members.get(event.key)
      if (member !== undefined) this.#apply(event, member, nowMs)
    }
    return this.#settle(nowMs)
  }

  #apply(event: Exclude<ResidencyEvent<Claim>, { type: 'tick' }>, member: Member<Claim>, nowMs: number): void {
    switch (event.type) {
      case 'claim':
        member.waiting.set(event.claim, { kind: event.kind, sinceMs: nowMs })
        member.isUnwanted = false
        break
      case 'end':
        this.#end(member, event.claim, nowMs)
        break
      case 'reserve':
        this.#reserve(member, event.bytes, nowMs)
        break
      case 'ready':
        member.readyAtMs ??= nowMs
        member.lastUsedMs = nowMs
        break
      case 'freed':
        // A load that failed before it held memory ends with `load-failed`, which has the reason.
        if (member.holdsMemory || member.phase === 'unloading') enterPhase(member, 'absent', nowMs)
        break
      case 'load-failed':
        if (event.attempt !== member.attempt) break
        this.#refuseAll(member, event.error)
        if (member.readyAtMs === undefined) enterPhase(member, 'absent', nowMs)
        break
      case 'cancel-load':
        if (!isLoading(member)) break
        this.#refuseAll(member, new AppError('model-unavailable', `the load of model '${member.id}' was cancelled; try again`))
        this.#unload(member, 'command', nowMs)
        break
      case 'close':
        if (member.phase === 'loaded') member.closedFor = 'command'
        break
      case 'reopen':
        if (member.phase === 'loaded') member.closedFor = undefined
        break
      case 'keep':
        if (member.phase !== 'absent') member.keptMs = event.idleMs
        break
      case 'evict':
        if (member.phase === 'loaded') this.#unload(member, 'command', nowMs)
        break
    }
  }

  #end(member: Member<Claim>, claim: Claim, nowMs: number): void {
    if (member.users.delete(claim)) member.lastUsedMs = nowMs
    if (!member.waiting.delete(claim) || member.waiting.size > 0) return
    // A download continues, since its file is kept.
    if (member.phase === 'starting') member.isUnwanted = true
    if (member.phase === 'waiting') this.#giveUp(member, nowMs)
  }

  /**
   * The engine asks for memory:
   *
   * 1. For more than the budget: rejected.
   * 2. Loaded: a restart after a crash, whose memory is still reserved.
   * 3. Absent: something other than a request has started the engine. It waits, and the end of its load matters here, too.
   * 4. Starting: it waits.
   * 5. Waiting already, or unloading: nothing changes.
   */
  #reserve(member: Member<Claim>, bytes: number, nowMs: number): void {
    member.bytes = bytes
    if (bytes > this.#limits.budgetBytes) {
      // Case 1
      this.#effects.push({ type: 'reject', key: member.key })
      return
    }
    switch (member.phase) {
      case 'loaded':
        // Case 2
        this.#effects.push({ type: 'admit', key: member.key })
        break
      case 'absent':
        // Case 3
        this.#load(member)
        enterPhase(member, 'waiting', nowMs)
        break
      case 'starting':
        // Case 4
        enterPhase(member, 'waiting', nowMs)
        break
      case 'waiting':
      case 'unloading':
        // Case 5
        break
    }
  }

  /** No request waits any more for a model that waits for memory: the models to be unloaded for it may stay. */
  #giveUp(member: Member<Claim>, nowMs: number): void {
    this.#unload(member, 'unwanted', nowMs)
    this.#reopenAll()
  }

  #reopenAll(): void {
    for (const member of this.#members.values()) if (member.closedFor === 'memory') member.closedFor = undefined
  }

  #load(member: Member<Claim>): void {
    member.attempt += 1
    this.#effects.push({ type: 'load', key: member.key, attempt: member.attempt })
  }

  #unload(member: Member<Claim>, reason: UnloadReason, nowMs: number): void {
    member.attempt += 1
    member.comesAndGoes = true
    enterPhase(member, 'unloading', nowMs)
    this.#effects.push({ type: 'unload', key: member.key, reason })
  }

  #refuseAll({ waiting }: Member<Claim>, error: unknown): void {
    for (const claim of waiting.keys()) this.#effects.push({ type: 'refuse', claim, error })
    waiting.clear()
  }

  /**
   * The actions that follow from the state of the models, after any change:
   *
   * 1. An absent model that is wanted starts. 2. Models that wait for memory get it, in `#shareMemory`. 3. A loaded model grants its
   * claims, unless it is closed; it is unloaded when its idle time is over. 4. A closed one is unloaded once it is unused.
   */
  #settle(nowMs: number): Decision<Claim> {
    this.#wakeAtMs = Number.POSITIVE_INFINITY
    // Case 1
    for (const member of this.#all(({ phase, waiting }) => phase === 'absent' && waiting.size > 0)) {
      enterPhase(member, 'starting', nowMs)
      this.#load(member)
    }
    this.#shareMemory(nowMs) // Case 2
    for (const member of this.#all(({ phase }) => phase === 'loaded')) {
      if (member.closedFor === undefined) {
        // Case 3
        this.#grantAll(member, nowMs)
        this.#unloadIdle(member, nowMs)
      } else if (member.users.size === 0) this.#unload(member, member.closedFor, nowMs) // Case 4
    }
    const effects = this.#effects
    this.#effects = []
    return { effects, wakeAtMs: this.#wakeAtMs }
  }

  /**
   * Gives memory to waiting models, the one wanted longest first: a later one must not take the memory that it waits for.
   *
   * 1. Nobody waits: models that were to make room stay.
   * 2. It fits into what is free, beside what those before it wait for: admitted.
   * 3. Memory is missing, and only preloads want the model, or nobody any more: deferred. Nothing is unloaded for these.
   * 4. Memory is missing: others are closed for it, now or when they have served long enough.
   * 5. What becomes free is enough: it waits for that.
   */
  #shareMemory(nowMs: number): void {
    const claimants = this.#all(({ phase }) => phase === 'waiting').sort((a, b) => wantedSinceMs(a) - wantedSinceMs(b))
    if (claimants.length === 0) {
      // Case 1
      this.#reopenAll()
      return
    }
    let spareBytes = this.#limits.budgetBytes - this.usedBytes
    let comingBytes = sumBytes(this.#all((one) => one.holdsMemory && (one.phase === 'unloading' || one.closedFor !== undefined)))
    let promisedBytes = 0
    for (const claimant of claimants) {
      const missingBytes = promisedBytes + claimant.bytes - spareBytes - comingBytes
      if (missingBytes <= 0 && claimant.bytes <= spareBytes) {
        // Case 2
        spareBytes -= claimant.bytes
        enterPhase(claimant, 'loaded', nowMs)
        this.#effects.push({ type: 'admit', key: claimant.key })
        continue
      }
      if (missingBytes > 0 && isModest(claimant)) {
        // Case 3
        for (const claim of claimant.waiting.keys()) this.#effects.push({ type: 'defer', claim })
        claimant.waiting.clear()
        this.#unload(claimant, 'unwanted', nowMs)
        continue
      }
      if (missingBytes > 0) comingBytes += this.#closeFor(missingBytes, nowMs) // Case 4
      // Cases 4 and 5
      promisedBytes += claimant.bytes
    }
  }

  /** Closes models until this much will become free, or none. Returns how much will. */
  #closeFor(missingBytes: number, nowMs: number): number {
    const open = this.#all(({ phase, closedFor }) => phase === 'loaded' && closedFor === undefined)
    const candidates = open.map((member) => ({ member, ...this.#asCandidate(member) }))
    const choice = chooseVictims(candidates, missingBytes, nowMs)
    switch (choice.type) {
      case 'now':
        for (const { member } of choice.victims) member.closedFor = 'memory'
        return sumBytes(choice.victims)
      case 'later':
        this.#wakeAt(choice.atMs)
        return 0
      case 'never':
        return 0
    }
  }

  #asCandidate({ bytes, isPinned, lastUsedMs, users, readyAtMs, admittedAtMs }: Member<Claim>): Candidate {
    const { minResidencyMs, idleGraceMs } = this.#limits
    const isIdle = users.size === 0
    const loadMs = readyAtMs === undefined ? Number.POSITIVE_INFINITY : readyAtMs - admittedAtMs
    const servedAtMs = admittedAtMs + loadMs + Math.max(minResidencyMs, loadMs)
    const idleEnoughAtMs = lastUsedMs + Math.max(idleGraceMs, loadMs / 2)
    const freeFromMs = isIdle && readyAtMs !== undefined ? Math.min(servedAtMs, idleEnoughAtMs) : servedAtMs
    return { bytes, isPinned, isIdle, lastUsedMs, freeFromMs }
  }

  #grantAll(member: Member<Claim>, nowMs: number): void {
    const { waiting, users } = member
    for (const claim of waiting.keys()) {
      users.add(claim)
      member.lastUsedMs = nowMs
      this.#effects.push({ type: 'grant', claim })
    }
    waiting.clear()
  }

  #unloadIdle(member: Member<Claim>, nowMs: number): void {
    const expiresAtMs = this.expiresAtMs(member)
    if (expiresAtMs === undefined) return
    if (expiresAtMs <= nowMs) this.#unload(member, 'idle', nowMs)
    else this.#wakeAt(expiresAtMs)
  }

  /** When an idle model will be unloaded; undefined for one that is in use, not loaded, or without an idle time. */
  expiresAtMs({ users, readyAtMs, lastUsedMs, keptMs, idleTtlMs }: Readonly<Member<Claim>>): number | undefined {
    const idleMs = keptMs ?? idleTtlMs ?? this.#limits.idleTtlMs
    return idleMs === undefined || users.size > 0 || readyAtMs === undefined ? undefined : lastUsedMs + idleMs
  }

  #wakeAt(atMs: number): void {
    this.#wakeAtMs = Math.min(this.#wakeAtMs, atMs)
  }

  #all(matches: (member: Member<Claim>) => boolean): Member<Claim>[] {
    return [...this.#members.values()].filter(matches)
  }
}

/** The model has not been ready yet. */
function isLoading<Claim extends object>({ phase, readyAtMs }: Member<Claim>): boolean {
  return phase === 'starting' || phase === 'waiting' || (phase === 'loaded' && readyAtMs === undefined)
}
