import type { FastifyRequest } from 'fastify'
import type { AppError } from '../contract/errors.ts'
import { createResponseId } from '../responses/accept.ts'
import type { Turn } from '../responses/session.ts'
import { callerOf } from './caller.ts'
import type { ServerDeps } from './deps.ts'
import { factFields, type GenerationFacts, noteEvent } from './generation-facts.ts'
import { readClientIds } from './open-run.ts'
import { encodeFields } from './reply-headers.ts'
import { logResponseFailure } from './stream-response.ts'

/** The responses of one socket: each is registered in cancellations and has its line in the log, like a request. */
export function createTurns(deps: ServerDeps, request: FastifyRequest) {
  const { cancellations, metrics, now } = deps
  const principal = callerOf(request)
  const clientIds = readClientIds(request)
  const running = new Set<{ cancel(reason: 'client-gone'): boolean }>()

  function open(): Turn {
    const id = createResponseId()
    const handle = cancellations.open({ id, owner: principal.id })
    running.add(handle)
    const receivedAtMs = now()
    const facts: GenerationFacts = { generationId: id }
    let isOk = true
    let ignored = ''
    return {
      caller: { id, principal, receivedAtMs, signal: handle.signal, ...clientIds },
      accepted({ parts: { decoded, context } }) {
        handle.servedBy(context.model.id)
        facts.requestedModel = decoded.request.model
        facts.model = context.model.id
        // A socket has no header for it.
        ignored = encodeFields(decoded.ignored)
      },
      observe(event) {
        noteEvent(facts, event)
        if (event.type === 'error') fail(event.error)
      },
      failed: fail,
      close() {
        handle.close()
        running.delete(handle)
        const fields = { requestId: request.id, key: principal.id, ...(ignored !== '' && { ignored }), ...factFields(facts) }
        request.log.info({ ...fields, isOk, durationMs: Math.round(now() - receivedAtMs) }, 'response on a socket ended')
      },
    }

    function fail(error: AppError): void {
      isOk = false
      logResponseFailure(request, error)
    }
  }

  /** Stops what runs when the client has gone. */
  function cancelAll(): void {
    for (const handle of running) if (handle.cancel('client-gone')) metrics.requestsCancelled('client-gone')
  }

  return { open, cancelAll }
}
