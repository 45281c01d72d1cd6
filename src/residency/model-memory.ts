import type { Residency, ResidencyStatus, Resident, ResidentOptions } from '../contract/residency.ts'
import { type Claim, deferred } from './claim.ts'
import type { ResidencyEffect, ResidencyEvent } from './events.ts'
import { type ResidencyLog, ResidentModel } from './resident-model.ts'
import { type Decision, type ResidencyLimits, ResidencyRules } from './rules.ts'

type ModelMemoryOptions = ResidencyLimits & {
  /** Milliseconds of a monotonic clock. */
  now(): number
  readonly log: ResidencyLog
}

const longestTimeoutMs = 2 ** 31 - 1
/** This part of the budget's rest is lent: loads to come, and what estimates miss, need the other. */
const lentShare = 0.5
/** llama-server's default for what it keeps of prompts. */
const mostLentBytes = 8 * 2 ** 30

/** Carries out what the rules decide about the models of one machine. */
export class ModelMemory implements Residency {
  readonly #options: ModelMemoryOptions
  readonly #rules: ResidencyRules<Claim>
  #budgetBytes: number
  readonly #models = new Map<string, ResidentModel>()
  readonly #pending: (() => Decision<Claim>)[] = []
  #added = 0
  #timer: NodeJS.Timeout | undefined

  constructor(options: ModelMemoryOptions) {
    this.#options = options
    this.#budgetBytes = options.budgetBytes
    this.#rules = new ResidencyRules(options)
  }

  add(model: ResidentOptions): Resident {
    const { now, log } = this.#options
    const key = `${++this.#added}`
    const member = this.#rules.add(key, model, now())
    const shared = new ResidentModel(model, {
      member,
      budgetBytes: () => this.#budgetBytes,
      expiresAtMs: () => this.#rules.expiresAtMs(member),
      now,
      log,
      report: (event) => this.#report({ ...event, key }),
      forget: () => {
        this.#follow(() => this.#rules.remove(key, now()))
        this.#models.delete(key)
      },
    })
    this.#models.set(key, shared)
    return shared
  }

  status(): readonly ResidencyStatus[] {
    return [...this.#models.values()].map(({ status }) => status)
  }

  /** The number of models that stay loaded whenever they fit. */
  get pinned(): number {
    return [...this.#models.values()].filter(({ isPinned }) => isPinned).length
  }

  memory(): ReturnType<Residency['memory']> {
    return { budgetBytes: this.#budgetBytes, usedBytes: this.#rules.usedBytes }
  }

  /** Models beyond a smaller budget stay until another one needs their memory. */
  changeLimits(limits: ResidencyLimits): void {
    this.#budgetBytes = limits.budgetBytes
    this.#follow(() => this.#rules.changeLimits(limits, this.#options.now()))
  }

  /** Loads and unloads nothing more; the caller closes the engines. */
  close(): void {
    clearTimeout(this.#timer)
    for (const model of [...this.#models.values()]) model.remove()
  }

  #report(event: ResidencyEvent<Claim>): void {
    this.#follow(() => this.#rules.decide(event, this.#options.now()))
  }

  /** Carries out decisions one after the other: an effect may immediately cause the next event. */
  #follow(decide: () => Decision<Claim>): void {
    this.#pending.push(decide)
    if (this.#pending.length > 1) return
    for (let next = this.#pending[0]; next !== undefined; next = this.#pending[0]) {
      const { effects, wakeAtMs } = next()
      for (const effect of effects) this.#perform(effect)
      this.#wakeAt(wakeAtMs)
      this.#pending.shift()
    }
    this.#lendSpare()
  }

  /** Loaded models may use spare memory together, until it is needed. */
  #lendSpare(): void {
    const loaded = [...this.#models.values()].filter(({ borrows }) => borrows)
    const { budgetBytes, usedBytes } = this.memory()
    const shareBytes = Math.floor(((budgetBytes - usedBytes) * lentShare) / loaded.length)
    for (const model of loaded) model.lend(Math.min(mostLentBytes, Math.max(0, shareBytes)))
  }

  #wakeAt(atMs: number): void {
    clearTimeout(this.#timer)
    if (atMs === Number.POSITIVE_INFINITY) return
    const pauseMs = Math.min(longestTimeoutMs, Math.max(1, Math.ceil(atMs - this.#options.now())))
    this.#timer = setTimeout(() => this.#report({ type: 'tick' }), pauseMs)
    // The timer must not keep the process alive.
    this.#timer.unref()
  }

  #perform(effect: ResidencyEffect<Claim>): void {
    switch (effect.type) {
      case 'load':
        this.#models.get(effect.key)?.beginLoad(effect.attempt)
        break
      case 'admit':
        this.#models.get(effect.key)?.admit()
        break
      case 'reject':
        this.#models.get(effect.key)?.reject()
        break
      case 'unload':
        this.#models.get(effect.key)?.beginUnload(effect.reason)
        break
      case 'grant':
        effect.claim.grant()
        break
      case 'refuse':
        effect.claim.refuse(effect.error)
        break
      case 'defer':
        effect.claim.refuse(deferred)
        break
    }
  }
}
