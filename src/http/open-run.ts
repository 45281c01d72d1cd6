import type { FastifyReply, FastifyRequest } from 'fastify'
import type { RequestContext, TraceContext } from '../contract/context.ts'
import type { RunHandle } from '../core/cancellations.ts'
import { callerOf } from './caller.ts'
import type { ServerDeps } from './deps.ts'

/** A request context before the model is known. */
export type CallerContext = Omit<RequestContext, 'model'>

/** A registered request. */
type OpenRun = {
  readonly caller: CallerContext
  readonly handle: RunHandle
  /** Keeps the request running when its client disconnects. */
  detach(): void
}

/** Registers a request, which is cancelled when its client disconnects. Call `handle.close` when it has ended. */
export function openRun(deps: ServerDeps, request: FastifyRequest, { raw }: FastifyReply, id: string): OpenRun {
  const { cancellations, metrics, now } = deps
  const principal = callerOf(request)
  const handle = cancellations.open({ id, owner: principal.id })
  let isDetached = false
  const onClose = () => {
    if (!isDetached && !raw.writableFinished && handle.cancel('client-gone')) metrics.requestsCancelled('client-gone')
  }
  raw.once('close', onClose)
  if (raw.destroyed) onClose()
  const trace = readTrace(request)
  return {
    caller: { id, principal, receivedAtMs: now(), signal: handle.signal, ...(trace !== undefined && { trace }) },
    handle,
    detach: () => {
      isDetached = true
    },
  }
}

/** W3C trace context, if well formed. */
export function readTrace({ headers: { traceparent, tracestate } }: FastifyRequest): TraceContext | undefined {
  if (typeof traceparent !== 'string' || !/^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}/.test(traceparent)) return undefined
  return { traceparent, ...(typeof tracestate === 'string' && { tracestate }) }
}
