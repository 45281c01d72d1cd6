import type { RunCommand } from '../../channel/ipc.ts'
import type { WorkerModel } from '../model/model.ts'
import type { MediaReading } from '../rounds/prefill.ts'
import type { RunControl } from '../sampling/run-control.ts'
import { fillSlot, keepPrefix } from '../slots/fill-slot.ts'
import type { SlotLease } from '../slots/slot-pool.ts'
import type { Slot } from '../slots/slots.ts'
import type { Choice, ChoiceEnd } from './choice.ts'

type ParallelRun = {
  readonly command: RunCommand
  readonly media: MediaReading | undefined
  readonly control: RunControl
  /** The slot that contains the prompt. It is given back, like all borrowed slots. */
  readonly first: SlotLease<Slot>
  /** `control` also ends a choice when another one has failed. */
  readonly open: (index: number, control: RunControl) => Choice
  readonly onEnd: (choice: Choice, end: ChoiceEnd) => void
}

/**
 * Parallel sampling: generates the choices of a run, as many at a time as it can borrow slots. The choice of a recalled slot waits for
 * the next slot. When this returns or throws, all choices have ended and every slot is given back.
 */
export async function sampleInParallel(
  { pacer, rounds, pool, prefixStore: store }: Pick<WorkerModel, 'pacer' | 'rounds' | 'pool' | 'prefixStore'>,
  { command, media, control, first, open, onEnd }: ParallelRun,
): Promise<void> {
  const { holder } = first
  const waiting = Array.from({ length: command.choices }, (_, index) => index)
  /** Choices that lost their slot continue from their last token. */
  const opened = new Map<number, Choice>()
  const seats = new Map<SlotLease<Slot>, Promise<void>>()
  let failure: { readonly error: unknown } | undefined
  const isOver = () => failure !== undefined || control.cancelled()

  /** False: the slot was recalled, or the run has ended. */
  const fill = async (choice: Choice, lease: SlotLease<Slot>): Promise<boolean> => {
    const { slot } = lease
    const others = [...seats.keys()].map((seat) => seat.slot).filter((other) => other !== slot)
    const { owner, lastMessage } = command
    const filling = { tokens: choice.tokens(), owner, spans: media?.spans ?? [], others, store, lastMessage }
    if (command.choices === 1) {
      // The only choice reads the rest itself: its first token comes with the last step.
      await keepPrefix(slot, filling)
      return true
    }
    const isRead = await fillSlot(slot, filling, { pacer, rounds, media, isOver: () => isOver() || lease.isRecalled })
    // Models whose cache cannot be truncated (recurrent ones) return to this point for another choice; for others it does nothing.
    if (isRead && choice.outputTokens === 0) await slot.sequence.takeCheckpoint()
    return isRead
  }
  const work = async (index: number, lease: SlotLease<Slot>): Promise<void> => {
    const choice = opened.get(index) ?? open(index, { ...control, cancelled: isOver })
    opened.set(index, choice)
    const end = (await fill(choice, lease)) ? await choice.decode(lease) : 'recalled'
    if (end === 'recalled') {
      waiting.unshift(index)
      return
    }
    opened.delete(index)
    choice.close()
    onEnd(choice, end)
  }

  const serve = async (lease: SlotLease<Slot>): Promise<void> => {
    try {
      while (!isOver() && !lease.isRecalled) {
        const index = waiting.shift()
        if (index === undefined) break
        await work(index, lease)
      }
    } catch (error) {
      failure ??= { error }
      // The failed step leaves unknown contents in the cache, so it must not be reused. If clearing fails too, the next request on
      // this slot fails; this one reports its own failure.
      await lease.slot.sequence.clearHistory().catch(() => undefined)
    }
  }
  const seat = (lease: SlotLease<Slot>) => {
    const leave = () => {
      seats.delete(lease)
      lease.giveBack()
    }
    seats.set(lease, serve(lease).finally(leave))
  }
  const borrow = () => {
    while (waiting.length > 0 && !isOver()) {
      const lease = pool.borrow(holder, command)
      if (lease === undefined) break
      seat(lease)
    }
  }

  const stopBorrowing = pool.onFree(borrow)
  try {
    seat(first)
    borrow()
    while (seats.size > 0 || (waiting.length > 0 && !isOver())) {
      if (seats.size === 0) seat(await pool.take(holder, command))
      await Promise.race(seats.values())
    }
  } finally {
    stopBorrowing()
    for (const choice of opened.values()) choice.close()
  }
  if (failure !== undefined) throw failure.error
}
