import { pino } from 'pino'
import { share } from '../../../src/app/sharing/share.ts'
import type { Bus, Carrier, Shared } from '../../../src/contract/server/shared.ts'
import { MinuteCounter } from '../../../src/quota/minute-counter.ts'
import { joinPrimary } from '../../../src/workers/membership.ts'
import { PrimaryState } from '../../../src/workers/primary-state.ts'

/** A primary state with workers whose messages pass a structured clone, as between processes. */
export function startPrimary() {
  const state = new PrimaryState(new MinuteCounter())
  return () => {
    const send = (take: (message: unknown) => void) => (message: object) => {
      const copy = structuredClone(message)
      queueMicrotask(() => take(copy))
    }
    const { primary, take } = joinPrimary({ send: send((message) => port.take(message)) })
    const port = state.connect({ send: send(take) })
    return { primary, end: () => port.close() }
  }
}

/** What carriers share, without a log. */
export function shareOver(...carriers: readonly Carrier[]): Shared {
  return share(carriers, pino({ level: 'silent' })) as Shared
}

/** The bus of a process among others of `join` (see `startPrimary`); `end` ends the process without a word. `onPublish`: called with each message. */
export function mortalBus(join: ReturnType<typeof startPrimary>, onPublish?: () => void): { bus: Bus; end(): void } {
  const shared = shareOver(join().primary)
  let hasEnded = false
  const publish: Bus['publish'] = async (...message) => {
    onPublish?.()
    return hasEnded ? [] : shared.publish(...message)
  }
  const end = () => {
    hasEnded = true
  }
  return { bus: { ...shared, publish }, end }
}
