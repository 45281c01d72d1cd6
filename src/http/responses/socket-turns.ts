import type { FastifyRequest } from 'fastify'
import { ChurnSet } from '../../base/churn.ts'
import type { GenerationEvent } from '../../contract/event.ts'
import { readCancelKeys } from '../../dialect/wire/cancel-keys.ts'
import { createResponseId } from '../../responses/accept.ts'
import { callerOf } from '../access/caller.ts'
import { factFields, type GenerationFacts } from '../reply/generation-facts.ts'
import type { Watching } from '../run/deps.ts'
import { beginSpan, clientIdsOf, namesOf, stoppedBy } from '../run/open-run.ts'
import { noteResponseEvent, unseenFields } from './stream-response.ts'

type Accepted = {
  readonly parts: {
    readonly decoded: { readonly request: { readonly model: string }; readonly ignored: readonly string[] }
    readonly context: { readonly model: { readonly id: string } }
  }
  readonly dropped: readonly string[]
}

/** The calls of one socket: each is registered in cancellations and has a log line of its own, like a request. */
export function createTurns(deps: Watching, request: FastifyRequest, createId = createResponseId) {
  const { cancellations, now, activity } = deps
  const running = new ChurnSet<{ cancel(reason: 'client-gone'): boolean }>()

  function open(body: unknown) {
    const id = createId()
    const principal = callerOf(request)
    const keys = readCancelKeys({ headers: request.headers, body })
    const handle = cancellations.open({ id, owner: principal.id, ...keys })
    running.add(handle)
    const receivedAtMs = now()
    const facts: GenerationFacts = { generationId: id }
    const { url: route = 'unmatched' } = request.routeOptions
    const watch = activity?.open({ id, requestId: request.id, owner: principal.id, route, hasNoReply: true })
    watch?.began()
    const span = beginSpan(deps.tracing, request)
    let isOk = true
    let run: Accepted | undefined
    return {
      caller: {
        id,
        principal,
        receivedAtMs,
        ...stoppedBy(handle),
        ...clientIdsOf(request, keys, span),
        ...(watch !== undefined && { watch, onQueued: watch.onQueued, onLoading: watch.onLoading }),
      },
      accepted(accepted: Accepted) {
        run = accepted
        const { decoded, context } = run.parts
        handle.servedBy(context.model.id)
        facts.requestedModel = decoded.request.model
        watch?.asked(decoded.request.model)
        facts.model = context.model.id
      },
      observe(event: GenerationEvent) {
        noteResponseEvent(facts, event, request)
        if (event.type === 'error') isOk = false
      },
      failed() {
        isOk = false
      },
      close() {
        handle.close()
        running.delete(handle)
        span?.replied({ status: isOk ? 200 : 500, goesOn: false, ...namesOf(facts) })
        const fields = {
          requestId: request.id,
          key: principal.id,
          ...(run !== undefined && unseenFields(run)),
          ...factFields(facts),
        }
        request.log.info({ ...fields, isOk, durationMs: Math.round(now() - receivedAtMs) }, 'response on a socket ended')
      },
    }
  }

  /** Stops running responses when the client is gone. */
  function cancelAll(): void {
    for (const handle of running) handle.cancel('client-gone')
  }

  return { open, cancelAll }
}
