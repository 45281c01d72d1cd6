import type { Scheduler } from '../contract/scheduler.ts'
import type { Quotas, Reservation } from './quotas.ts'

/**
 * The same scheduler behind a gate: no model is loaded for a caller with nothing left, and it gets its first slot only when its tokens
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
      const ticket = scheduler.enter(request, use)
      let reservation: Reservation | undefined
      let used = 0
      return {
        release: () => ticket.release(),
        async ready(signal) {
          if (!isCounted && reservation === undefined) await quotas.check(quota)
          await ticket.ready(signal)
        },
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
