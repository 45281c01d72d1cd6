import type { FastifyInstance } from 'fastify'
import { readCancelTarget } from '../../../dialect/wire/cancel-keys.ts'
import { callerOf } from '../../access/caller.ts'
import { takeAsJson, takeBody } from '../../body/take-body.ts'
import { cancelEverywhere } from '../../run/cancel-everywhere.ts'
import type { Watching } from '../../run/deps.ts'

/** Cancels running requests by the keys of a lenient body: a client that gives up does not read a refusal. */
export function addCancelRoute(app: FastifyInstance, deps: Watching): void {
  const config = { scope: 'inference', isBodyLenient: true, servesWhileDraining: true } as const
  // Pages that are being closed can only send text.
  app.post('/api/inference/cancel', { config, onRequest: takeAsJson }, async (request) => {
    const { id: by, scopes } = callerOf(request)
    const cancel = { ...readCancelTarget(takeBody(request).body), by, isAdmin: scopes.has('admin') }
    return { cancelled: await cancelEverywhere(deps, cancel) }
  })
}
