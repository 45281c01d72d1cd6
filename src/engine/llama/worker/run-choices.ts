import type { Choice, ChoiceEnd } from './choice.ts'
import { fillSlot } from './fill-slot.ts'
import type { PrefillPacer } from './prefill.ts'
import type { RunCommand, RunControl } from './run-control.ts'
import type { Lease, SlotPool } from './slot-pool.ts'
import type { Slot } from './slots.ts'

type ChoicesRun = {
  readonly command: RunCommand
  readonly control: RunControl
  readonly pacer: PrefillPacer
  readonly pool: SlotPool<Slot>
  /** Holds the prompt. It is given back, like all that are borrowed. */
  readonly first: Lease<Slot>
  /** `control` also ends a choice when another one has failed. */
  readonly open: (index: number, control: RunControl) => Choice
  readonly onEnd: (choice: Choice, end: ChoiceEnd) => void
}

/**
 * Generates the choices of a run side by side, as many at a time as there are slots that nobody else wants. A slot that is
 * recalled leaves its choice for the next slot. When it returns or throws, all have ended and every slot is given back.
 */
export async function runChoices({ command, control, pacer, pool, first, open, onEnd }: ChoicesRun): Promise<void> {
  const { holder } = first
  const waiting = Array.from({ length: command.choices }, (_, index) => index)
  /** Those that were taken from their slot go on from where they are. */
  const opened = new Map<number, Choice>()
  const seats = new Map<Lease<Slot>, Promise<void>>()
  let failure: { readonly error: unknown } | undefined
  const isOver = () => failure !== undefined || control.cancelled()

  const work = async (index: number, lease: Lease<Slot>): Promise<void> => {
    const choice = opened.get(index) ?? open(index, { ...control, cancelled: isOver })
    opened.set(index, choice)
    const filled = await fillSlot(lease.slot, {
      tokens: choice.tokensBefore(),
      others: [...seats.keys()].map(({ slot }) => slot).filter((slot) => slot !== lease.slot),
      pacer,
      isOver: () => isOver() || lease.isRecalled,
    })
    // Models whose cache cannot be cut (recurrent ones) go back to this point for another choice; for others it does nothing.
    if (filled !== undefined && command.choices > 1 && choice.outputTokens === 0) await lease.slot.sequence.takeCheckpoint()
    const end = filled === undefined ? 'recalled' : await choice.decode(lease)
    if (end === 'recalled') {
      waiting.unshift(index)
      return
    }
    opened.delete(index)
    choice.close()
    onEnd(choice, end)
  }

  const serve = async (lease: Lease<Slot>): Promise<void> => {
    try {
      while (!isOver() && !lease.isRecalled) {
        const index = waiting.shift()
        if (index === undefined) break
        await work(index, lease)
      }
    } catch (error) {
      failure ??= { error }
      // What the failed step left in the cache is unknown; nothing may be continued from it.
      // If that fails too, the next request on this slot finds out; this one must hear of its own failure.
      await lease.slot.sequence.clearHistory().catch(() => undefined)
    }
  }
  const seat = (lease: Lease<Slot>) => {
    const leave = () => {
      seats.delete(lease)
      lease.giveBack()
    }
    seats.set(lease, serve(lease).finally(leave))
  }
  const borrow = () => {
    while (waiting.length > 0 && !isOver()) {
      const lease = pool.borrow(holder, command.tokens)
      if (lease === undefined) break
      seat(lease)
    }
  }

  const stopBorrowing = pool.onFree(borrow)
  try {
    seat(first)
    borrow()
    while (seats.size > 0 || (waiting.length > 0 && !isOver())) {
      if (seats.size === 0) seat(await pool.take(holder, command.tokens))
      await Promise.race(seats.values())
    }
  } finally {
    stopBorrowing()
    for (const choice of opened.values()) choice.close()
  }
  if (failure !== undefined) throw failure.error
}
