import { AppError } from '../../../contract/errors.ts'
import { pickRecall, pickSlot, type SlotFacts } from './slots.ts'

/** What the pool writes down about a slot. */
type PoolSlot = SlotFacts & { busy: boolean; lastUsed: number }

/** A slot in somebody's hands. */
export type Lease<T> = {
  readonly slot: T
  readonly holder: object
  /** Somebody else has none: it is to be given back at the end of the step that is being computed. */
  readonly isRecalled: boolean
  readonly whenRecalled: Promise<void>
  giveBack(): void
}

type Held<T> = Lease<T> & { readonly recall: () => void }
type Waiter<T> = { readonly holder: object; readonly grant: (lease: Lease<T>) => void }

/**
 * Hands out slots to holders, of which there may be no more than slots. Each gets one for certain: while slots are left over a
 * holder may borrow more, which are recalled when another holder comes.
 */
export class SlotPool<T extends PoolSlot> {
  readonly #slots: readonly T[]
  readonly #held = new Set<Held<T>>()
  readonly #waiting: Waiter<T>[] = []
  readonly #borrowers = new Set<() => void>()
  #clock = 0

  constructor(slots: readonly T[]) {
    this.#slots = slots
  }

  /** The best slot for these tokens, for a holder that has none; where all are lent, it waits until one is given back. */
  take(holder: object, tokens: ArrayLike<number>): Promise<Lease<T>> {
    const free = pickSlot(this.#slots, tokens)
    if (free !== undefined) return Promise.resolve(this.#lend(free, holder))
    const held = [...this.#held]
    // More may be on their way than somebody waits for: a slot that is given back serves whoever is first.
    if (held.filter(({ isRecalled }) => isRecalled).length <= this.#waiting.length) {
      const recalled = pickRecall(held)
      if (recalled === undefined) {
        const message = `all ${this.#slots.length} slots are busy: a request was let in too early`
        return Promise.reject(new AppError('internal', message))
      }
      recalled.recall()
    }
    return new Promise((grant) => this.#waiting.push({ holder, grant }))
  }

  /** One more slot for a holder that has one; `undefined` when none is free. */
  borrow(holder: object, tokens: ArrayLike<number>): Lease<T> | undefined {
    const free = pickSlot(this.#slots, tokens)
    return free && this.#lend(free, holder)
  }

  /** `listener` is called when there is something to borrow, until the function that is returned is called. */
  onFree(listener: () => void): () => void {
    this.#borrowers.add(listener)
    return () => this.#borrowers.delete(listener)
  }

  #lend(slot: T, holder: object): Lease<T> {
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
      waiter.grant(this.#lend(slot, waiter.holder))
      return
    }
    slot.busy = false
    for (const listener of [...this.#borrowers]) listener()
  }
}
