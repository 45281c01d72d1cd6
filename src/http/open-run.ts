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
  return {
    caller: { id, principal, receivedAtMs: now(), signal: handle.signal, ...readClientIds(request) },
    handle,
    detach: () => {
      isDetached = true
    },
  }
}

/** What the client calls its trace and its session. */
export function readClientIds(request: FastifyRequest): Pick<CallerContext, 'trace' | 'session'> {
  const trace = readTrace(request)
  const session = readSession(request)
  return { ...(trace !== undefined && { trace }), ...(session !== undefined && { session }) }
}

/** The headers of Claude Code, Codex, pi and opencode. */
const sessionHeaders = ['x-claude-code-session-id', 'session-id', 'session_id', 'x-session-id', 'x-session-affinity']
const maxSessionChars = 256

function readSession({ headers }: FastifyRequest): string | undefined {
  const sent = sessionHeaders.map((name) => headers[name]).find((value) => typeof value === 'string' && value !== '')
  return typeof sent === 'string' && sent.length <= maxSessionChars ? sent : undefined
}

/** W3C trace context, if well formed. */
function readTrace({ headers: { traceparent, tracestate } }: FastifyRequest): TraceContext | undefined {
  if (typeof traceparent !== 'string' || !/^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}/.test(traceparent)) return undefined
  return { traceparent, ...(typeof tracestate === 'string' && { tracestate }) }
}
