import type { LoadPlace, Scheduler } from '../contract/scheduler.ts'
import type { Claim } from './claim.ts'

type GateKeeper = {
  /** The claim may already be granted. */
  claim(): Claim
  /** Resolves when the claim is granted; gives it up if the signal is aborted first. */
  granted(claim: Claim, signal: AbortSignal): Promise<void>
  end(claim: Claim): void
  /** What claims of the model wait for; undefined when it is ready. */
  place(): LoadPlace | undefined
}

/**
 * Puts a gate in front of a scheduler: a ticket is ready when its model may stay loaded for it. A ticket that waits for its slot does not
 * keep the model loaded, since that may take long; if the model is gone by then, the ticket waits for its return.
 */
export function gateScheduler(scheduler: Scheduler, keeper: GateKeeper): Scheduler {
  return {
    get load() {
      return scheduler.load
    },
    whenIdle: (signal) => scheduler.whenIdle(signal),
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
            // The ticket may have to wait.
            if (busy >= slots) end()
            await ticket.slot(cost, signal)
            if (held !== undefined) return
            const claim = keeper.claim()
            if (claim.isGranted) {
              held = claim
              return
            }
            // The model is gone or going: its last users may need the slot to end.
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
