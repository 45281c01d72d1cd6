import type { Scheduler, Ticket } from '../contract/scheduler.ts'
import type { Quotas, Reservation } from './quotas.ts'

/**
 * The same scheduler behind a gate: a caller with limits enters only with something left, and gets its first slot only when its tokens
 * are reserved. What it was charged is settled when it leaves, however its request ended.
 */
export function limitScheduler(scheduler: Scheduler, quotas: Quotas): Scheduler {
  /** Of requests that were counted. One request may enter several times, such as to shorten a conversation before it answers. */
  const counted = new WeakSet<AbortSignal>()
  return {
    get load() {
      return scheduler.load
    },
    enter(request, use) {
      const { quota } = request.principal
      if (quota === undefined || use === 'free') return scheduler.enter(request, use)
      const isCounted = counted.has(request.signal)
      if (!isCounted) quotas.check(quota)
      const ticket = scheduler.enter(request, use)
      let reservation: Reservation | undefined
      let used = 0
      return {
        ...delegate(ticket),
        async slot(cost, signal) {
          reservation ??= await quotas.admit(quota, cost, { isCounted })
          counted.add(request.signal)
          await ticket.slot(cost, signal)
        },
        charge(tokens) {
          used += tokens
          ticket.charge(tokens)
        },
        leave() {
          ticket.leave()
          if (reservation !== undefined) void quotas.settle(quota, reservation, used)
          reservation = undefined
        },
      }
    },
  }
}

function delegate(ticket: Ticket): Pick<Ticket, 'ready' | 'release'> {
  return { ready: (signal) => ticket.ready(signal), release: () => ticket.release() }
}
