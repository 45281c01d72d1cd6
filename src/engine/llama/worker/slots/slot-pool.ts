import { ChurnSet } from '../../../../base/churn.ts'
import { AppError } from '../../../../contract/errors.ts'
import { type OwnedTokens, pickRecall, pickSlot, type SlotFacts } from './slots.ts'

/** A slot that is in use by a holder. */
export type SlotLease<T> = {
  readonly slot: T
  readonly holder: object
  /** Another holder waits: give this slot back at the end of the current step. */
  readonly isRecalled: boolean
  readonly whenRecalled: Promise<void>
  giveBack(): void
}

type Held<T> = SlotLease<T> & { readonly recall: () => void }
type Waiter<T> = { readonly holder: object; readonly grant: (lease: SlotLease<T>) => void }

/**
 * Assigns slots to holders, at most as many holders as slots. Each holder is certain of one slot and may borrow free ones, which are
 * recalled when another holder arrives.
 */
export class SlotPool<T extends SlotFacts> {
  readonly #slots: readonly T[]
  readonly #held = new ChurnSet<Held<T>>()
  readonly #waiting: Waiter<T>[] = []
  readonly #borrowers = new ChurnSet<() => void>()
  #clock = 0

  constructor(slots: readonly T[]) {
    this.#slots = slots
  }

  /** The best slot for these tokens, for a holder without a slot. If none is free, it recalls a borrowed one and waits for a slot. */
  take(holder: object, wanted: OwnedTokens): Promise<SlotLease<T>> {
    const free = pickSlot(this.#slots, wanted)
    if (free !== undefined) return Promise.resolve(this.#assign(free, holder))
    const held = [...this.#held]
    // A recalled slot goes to the first waiter, so there may already be more recalled slots than waiters.
    if (held.filter(({ isRecalled }) => isRecalled).length <= this.#waiting.length) {
      const recalled = pickRecall(held)
      if (recalled === undefined) {
        const message = `all ${this.#slots.length} slots are busy: a request was admitted too early`
        return Promise.reject(new AppError('internal', message))
      }
      recalled.recall()
    }
    return new Promise((grant) => this.#waiting.push({ holder, grant }))
  }

  /** Another slot for a holder that has one; `undefined` when none is free. */
  borrow(holder: object, wanted: OwnedTokens): SlotLease<T> | undefined {
    const free = pickSlot(this.#slots, wanted)
    return free && this.#assign(free, holder)
  }

  /** Calls `listener` when a slot becomes free to borrow, until the returned function is called. */
  onFree(listener: () => void): () => void {
    this.#borrowers.add(listener)
    return () => this.#borrowers.delete(listener)
  }

  #assign(slot: T, holder: object): SlotLease<T> {
    slot.busy = true
    slot.lastUsed = ++this.#clock
    let isRecalled = false
    let resolveRecalled: () => void = () => undefined
    const whenRecalled = new Promise<void>((resolve) => {
      resolveRecalled = resolve
    })
    const held: Held<T> = {
      slot,
      holder,
      whenRecalled,
      get isRecalled() {
        return isRecalled
      },
      recall() {
        isRecalled = true
        resolveRecalled()
      },
      giveBack: () => this.#takeBack(held),
    }
    this.#held.add(held)
    return held
  }

  #takeBack(held: Held<T>): void {
    if (!this.#held.delete(held)) return
    const { slot } = held
    const waiter = this.#waiting.shift()
    if (waiter !== undefined) {
      waiter.grant(this.#assign(slot, waiter.holder))
      return
    }
    slot.busy = false
    for (const listener of [...this.#borrowers]) listener()
  }
}
