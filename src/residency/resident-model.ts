import { setTimeout as pause } from 'node:timers/promises'
import type { Admit, MemoryNeed } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import type { ResidencyStatus, Resident, ResidentOptions } from '../contract/residency.ts'
import type { LoadPlace, Scheduler } from '../contract/scheduler.ts'
import { Claim, deferred } from './claim.ts'
import type { ClaimKind, ResidencyEvent, UnloadReason } from './events.ts'
import { gateScheduler } from './gate.ts'
import type { Member } from './member.ts'

/** The part of a logger that is used here. */
export type ResidencyLog = { info(facts: object, message: string): void; warn(facts: object, message: string): void }

type WithoutKey<T> = T extends { readonly key: string } ? Omit<T, 'key'> : never

type ResidentModelDeps = {
  /** Its state in the rules. */
  readonly member: Readonly<Member<Claim>>
  budgetBytes(): number
  /** When the model will be unloaded if it stays idle, on the clock of `now`. */
  expiresAtMs(): number | undefined
  now(): number
  readonly log: ResidencyLog
  report(event: WithoutKey<ResidencyEvent<Claim>>): void
  forget(): void
}

/** The model's process waits for its memory. */
type Reservation = { readonly need: MemoryNeed; admit(): void; refuse(error: unknown): void }

/** For the log; a load that is given up is not logged as an unload. */
const whyUnloaded: Readonly<Record<Exclude<UnloadReason, 'unwanted'>, string>> = {
  memory: 'another model needs its memory',
  idle: 'it was idle',
  command: 'by command',
}

/** One model: reports its events to the rules, and carries out their effects on its engine. */
export class ResidentModel implements Resident {
  readonly #model: ResidentOptions
  readonly #deps: ResidentModelDeps
  readonly #unsubscribe: () => void
  /** Ends loads when the model is removed. */
  readonly #removed = new AbortController()
  #reservation: Reservation | undefined
  #need: MemoryNeed | undefined
  #lentBytes = 0
  #unloading: Promise<void> | undefined
  /** Called when the model begins to leave the memory. */
  #onLeaving: (() => void)[] = []

  constructor(model: ResidentOptions, deps: ResidentModelDeps) {
    this.#model = model
    this.#deps = deps
    this.#unsubscribe = model.engine.onState((state) => {
      if (state.type === 'ready') deps.report({ type: 'ready' })
      const hasEnded = state.type === 'stopped' || (state.type === 'failed' && state.retryAtMs === undefined)
      // During an unload that the rules ordered, only its end counts.
      if (!hasEnded || this.#unloading !== undefined) return
      deps.report({ type: 'freed' })
      this.#leaving()
    })
  }

  get status(): ResidencyStatus {
    const { id, phase, bytes, sinceMs, lastUsedMs, users, waiting } = this.#deps.member
    const epochMs = Date.now() - this.#deps.now()
    const expiresAtMs = this.#deps.expiresAtMs() ?? Number.POSITIVE_INFINITY
    return {
      id,
      state: phase,
      bytes,
      sinceMs: Math.round(epochMs + sinceMs),
      lastUsedMs: Math.round(epochMs + lastUsedMs),
      busy: users.size,
      waiting: waiting.size,
      ...(Number.isFinite(expiresAtMs) && { expiresAtMs: Math.round(epochMs + expiresAtMs) }),
    }
  }

  longestContext(slots?: number): number | undefined {
    return this.#need?.longestContext(this.#deps.budgetBytes(), slots)
  }

  get isPinned(): boolean {
    return this.#model.isPinned
  }

  get comesAndGoes(): boolean {
    return this.#deps.member.comesAndGoes
  }

  gate(scheduler: Scheduler): Scheduler {
    return gateScheduler(scheduler, {
      claim: () => this.#claim('request'),
      granted: (claim, signal) => this.#granted(claim, signal),
      end: (claim) => this.#deps.report({ type: 'end', claim }),
      place: () => this.#place(),
    })
  }

  /** The engine awaits this before it starts the process that needs the memory. */
  readonly #admit: Admit = (need, signal) => {
    this.#need = need
    if (signal.aborted) return Promise.reject(signal.reason)
    if (this.#removed.signal.aborted) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const settle = () => {
        signal.removeEventListener('abort', leave)
        this.#reservation = undefined
      }
      const leave = () => {
        settle()
        reject(signal.reason)
      }
      signal.addEventListener('abort', leave, { once: true })
      this.#reservation = {
        need,
        admit: () => {
          settle()
          resolve()
        },
        refuse: (error) => {
          settle()
          reject(error)
        },
      }
      this.#deps.report({ type: 'reserve', bytes: need.bytes })
    })
  }

  async load(signal: AbortSignal): Promise<void> {
    await this.#loadAs('load', signal)
  }

  async preload(signal: AbortSignal): Promise<boolean> {
    try {
      await this.#loadAs('preload', signal)
      return true
    } catch (error) {
      if (error === deferred) return false
      throw error
    }
  }

  cancelLoad(): boolean {
    const { member, report } = this.#deps
    const { attempt } = member
    report({ type: 'cancel-load' })
    return member.attempt !== attempt
  }

  async unload({ drainMs, force }: { readonly drainMs: number; readonly force: boolean }): Promise<void> {
    const { member, report } = this.#deps
    if (!this.cancelLoad() && member.phase === 'loaded') {
      const hasLeft = new Promise<void>((resolve) => this.#onLeaving.push(resolve))
      report({ type: 'close' })
      await Promise.race([hasLeft, pause(drainMs, undefined, { ref: false })])
      // Its requests have not ended.
      if (member.phase === 'loaded' && member.closedFor === 'command') {
        report({ type: force ? 'evict' : 'reopen' })
        if (!force) throw stillBusy(member)
      }
    }
    await this.#unloading
  }

  keepFor(idleMs: number): void {
    this.#deps.report({ type: 'keep', idleMs })
  }

  remove(): void {
    this.#unsubscribe()
    const reason = new AppError('model-unavailable', `model '${this.#model.id}' has been removed`)
    this.#removed.abort(reason)
    this.#reservation?.refuse(reason)
    this.#deps.forget()
  }

  /** An effect of the rules, as are the methods below. */
  beginLoad(attempt: number): void {
    const { engine } = this.#model
    engine.ensureReady(this.#removed.signal, this.#admit)?.catch((error: unknown) => {
      this.#deps.report({ type: 'load-failed', attempt, error })
    })
  }

  admit(): void {
    this.#reservation?.admit()
  }

  /** It is loaded, and its engine has a use for spare memory. */
  get borrows(): boolean {
    return this.#deps.member.phase === 'loaded' && this.#model.engine.capabilities.spareMemory !== undefined
  }

  lend(bytes: number): void {
    if (bytes === this.#lentBytes) return
    this.#lentBytes = bytes
    this.#model.engine.capabilities.spareMemory?.use(bytes)
  }

  reject(): void {
    this.#reservation?.refuse(this.#reservation.need.tooLarge(this.#deps.budgetBytes()))
  }

  beginUnload(reason: UnloadReason): void {
    const { id, engine } = this.#model
    const { log, report } = this.#deps
    if (reason !== 'unwanted') log.info({ model: id, why: whyUnloaded[reason] }, 'unloading the model')
    // The rules have waited for its requests, or the unload is forced.
    this.#unloading = engine
      .unload({ drainMs: 0 })
      .catch((error: unknown) => log.warn({ model: id, err: error }, 'the model could not be unloaded'))
      .then(() => {
        this.#unloading = undefined
        report({ type: 'freed' })
      })
    this.#leaving()
  }

  #leaving(): void {
    for (const resolve of this.#onLeaving.splice(0)) resolve()
  }

  #place(): LoadPlace | undefined {
    const { phase, closedFor } = this.#deps.member
    const { state } = this.#model.engine
    if (phase === 'waiting' || phase === 'unloading' || closedFor !== undefined) return { state: 'waiting-for-memory' }
    if (state.type === 'ready') return undefined
    return state.type === 'loading' ? { state: 'loading', progress: state.progress } : { state: 'starting' }
  }

  #claim(kind: ClaimKind): Claim {
    const claim = new Claim()
    // A request that predates the removal of its model is not gated.
    if (this.#removed.signal.aborted) claim.grant()
    else this.#deps.report({ type: 'claim', claim, kind })
    return claim
  }

  /** Resolves when the claim is granted, and must then be ended; otherwise ends it. */
  async #granted(claim: Claim, signal: AbortSignal): Promise<void> {
    const giveUp = () => {
      if (claim.isGranted) return
      this.#deps.report({ type: 'end', claim })
      claim.refuse(signal.reason)
    }
    if (signal.aborted) giveUp()
    signal.addEventListener('abort', giveUp, { once: true })
    try {
      await claim.answer
    } finally {
      signal.removeEventListener('abort', giveUp)
    }
  }

  async #loadAs(kind: ClaimKind, signal: AbortSignal): Promise<void> {
    const claim = this.#claim(kind)
    await this.#granted(claim, signal)
    try {
      await this.#model.engine.ensureReady(signal, this.#admit)
    } finally {
      this.#deps.report({ type: 'end', claim })
    }
  }
}

function stillBusy({ id, users }: Readonly<Member<Claim>>): AppError {
  const message = `model '${id}' is not unloaded: requests that use it: ${users.size}; try again later, wait longer, or force it`
  return new AppError('request-conflict', message)
}
