import type { FastifyInstance } from 'fastify'
import { messageOf } from '../../../contract/errors.ts'
import type { SharedCancel } from '../../../contract/store.ts'
import { readCancelTarget } from '../../../dialect/wire/cancel-keys.ts'
import { callerOf } from '../../access/caller.ts'
import { takeAsJson, takeBody } from '../../body/take-body.ts'
import type { Keeping, Operating, Watching } from '../../run/deps.ts'

type CancelDeps = Watching & Keeping & Operating

/** Cancels running requests by the keys of a lenient body: a client that gives up does not read a refusal. */
export function addCancelRoute(app: FastifyInstance, deps: CancelDeps): void {
  const config = { scope: 'inference', isBodyLenient: true, servesWhileDraining: true } as const
  // Pages that are being closed can only send text.
  app.post('/api/inference/cancel', { config, onRequest: takeAsJson }, async (request) => {
    const { id: by, scopes } = callerOf(request)
    const cancel = { ...readCancelTarget(takeBody(request).body), by, isAdmin: scopes.has('admin') }
    return { cancelled: await cancelEverywhere(deps, cancel) }
  })
}

/** Cancels here, and in the other processes that are known. Returns how many were cancelled. */
export async function cancelEverywhere(
  { cancellations, store, siblings, log }: CancelDeps,
  cancel: SharedCancel,
): Promise<number> {
  const cancelled = cancellations.cancelRequested(cancel)
  if (!hasKey(cancel)) return cancelled
  const elsewhere = [siblings?.cancels, store?.cancels].map(async (bus) => {
    try {
      return (await bus?.publish(cancel)) ?? 0
    } catch (error) {
      log.warn({ reason: messageOf(error) }, 'a cancel did not reach other processes')
      return 0
    }
  })
  return (await Promise.all(elsewhere)).reduce((sum, count) => sum + count, cancelled)
}

function hasKey({ cancelId, sessionId, replyIds }: SharedCancel): boolean {
  return cancelId !== undefined || sessionId !== undefined || replyIds.length > 0
}
