import type { LoadPlace, Scheduler } from '../contract/scheduler.ts'
import type { Claim } from './claim.ts'

/** How a gate reaches the rules. */
type GateKeeper = {
  /** It may be granted already. */
  claim(): Claim
  /** Resolves when it is granted; gives it up when the signal is aborted first. */
  granted(claim: Claim, signal: AbortSignal): Promise<void>
  end(claim: Claim): void
  /** What those wait for who want the model; undefined when it is ready. */
  place(): LoadPlace | undefined
}

/**
 * The same scheduler behind a gate: a ticket is ready when its model may stay loaded for it. A ticket that waits for its slot does not keep
 * the model loaded, since that may take long; if the model has gone meanwhile, the ticket waits until it is back.
 */
export function gateScheduler(scheduler: Scheduler, keeper: GateKeeper): Scheduler {
  return {
    get load() {
      return scheduler.load
    },
    enter(request, purpose) {
      const ticket = scheduler.enter(request, purpose)
      /** The ticket uses the model. */
      let held: Claim | undefined
      const end = () => {
        if (held !== undefined) keeper.end(held)
        held = undefined
      }
      const use = async (claim: Claim, signal: AbortSignal) => {
        let isWaiting = true
        if (keeper.place() !== undefined) request.onLoading?.(() => (isWaiting ? keeper.place() : undefined))
        try {
          await keeper.granted(claim, signal)
          held = claim
          await ticket.ready(signal)
        } finally {
          isWaiting = false
        }
      }
      return {
        charge: (tokens) => ticket.charge(tokens),
        ready: (signal) => use(held ?? keeper.claim(), signal),
        async slot(cost, signal) {
          for (;;) {
            const { busy, slots } = scheduler.load
            // It may have to wait.
            if (busy >= slots) end()
            await ticket.slot(cost, signal)
            if (held !== undefined) return
            const claim = keeper.claim()
            if (claim.isGranted) {
              held = claim
              return
            }
            // The model has gone, or goes: what still uses it may need the slot to end.
            ticket.release()
            await use(claim, signal)
          }
        },
        release() {
          end()
          ticket.release()
        },
        leave() {
          end()
          ticket.leave()
        },
      }
    },
  }
}
