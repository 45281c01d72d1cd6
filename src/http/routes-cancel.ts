import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { readCancelTarget } from '../dialect/wire/cancel-keys.ts'
import { callerOf } from './caller.ts'
import type { ServerDeps } from './deps.ts'
import { takeBody } from './take-body.ts'

/** Cancels running requests by the keys of a lenient body: a client that gives up does not read a refusal. */
export function addCancelRoute(app: FastifyInstance, { cancellations }: Pick<ServerDeps, 'cancellations'>): void {
  const config = { scope: 'inference', isBodyLenient: true } as const
  app.post('/api/inference/cancel', { config, onRequest: takeAsJson }, (request) => {
    const target = readCancelTarget(takeBody(request).body)
    return { cancelled: cancellations.cancelRequested(target, callerOf(request)) }
  })
}

/** Pages that are being closed can only send text. */
function takeAsJson({ headers }: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  headers['content-type'] = 'application/json'
  done()
}
