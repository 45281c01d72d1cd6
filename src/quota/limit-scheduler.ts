import type { Scheduler } from '../contract/scheduler.ts'
import type { Quotas, Reservation } from './quotas.ts'

/**
 * Puts a gate in front of a scheduler: a caller with nothing left loads no model, and gets its first slot only once its tokens are
 * reserved. The charge is settled when it leaves, however its request ends.
 */
export function limitScheduler(scheduler: Scheduler, quotas: Quotas): Scheduler {
  const { counted } = quotas
  return {
    get load() {
      return scheduler.load
    },
    whenIdle: (signal) => scheduler.whenIdle(signal),
    enter(request, use) {
      const { quota } = request.principal
      if (quota === undefined || use === 'free') return scheduler.enter(request, use)
      const requestSignal = request.whole ?? request.signal
      const whole = counted.get(requestSignal)
      const isCounted = whole !== undefined
      const ticket = scheduler.enter(request, use)
      let reservation: Reservation | undefined
      const used = (use === 'part' ? whole : undefined) ?? { tokens: 0 }
      const charge = (tokens: number) => {
        used.tokens += tokens
        ticket.charge(tokens)
      }
      if (use === 'part') return { ...ticket, charge }
      return {
        release: () => ticket.release(),
        async ready(signal) {
          if (!isCounted && reservation === undefined) await quotas.check(quota)
          await ticket.ready(signal)
        },
        async slot(cost, signal) {
          reservation ??= await quotas.admit(quota, cost, { isCounted })
          counted.set(requestSignal, used)
          await ticket.slot(cost, signal)
        },
        charge,
        leave() {
          ticket.leave()
          if (reservation !== undefined) void quotas.settle(quota, reservation, used.tokens)
          reservation = undefined
        },
      }
    },
  }
}
