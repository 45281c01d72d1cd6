import type { FastifyRequest } from 'fastify'
import type { CancelKeys, RequestContext } from '../../contract/context.ts'
import type { RequestSpan, TraceContext } from '../../contract/tracing.ts'
import type { RunHandle } from '../../core/cancel/cancellations.ts'
import { readCancelKeys } from '../../dialect/wire/cancel-keys.ts'
import { callerOf } from '../access/caller.ts'
import type { Exchange } from '../reply/exchange.ts'
import type { GenerationFacts } from '../reply/generation-facts.ts'
import { reportLoad } from '../reply/load-place.ts'
import { reportPlace } from '../reply/queue-place.ts'
import { reportAffinity } from '../reply/reply-headers.ts'
import { whenClosed } from '../reply/when-closed.ts'
import type { Watching } from './deps.ts'

/** A request context before the model is known. */
export type CallerContext = Omit<RequestContext, 'model'>

/** A registered request. */
export type OpenRun = {
  readonly caller: CallerContext
  readonly handle: RunHandle
  /** Keeps the request running when its client disconnects. */
  detach(): void
}

/**
 * Registers a request, which is cancelled when its client disconnects, and by the keys of its headers and of `body`. Call `handle.close`
 * when it has ended.
 */
export function openRun(
  { cancellations, now, tracing, activity }: Watching,
  { request, reply }: Exchange,
  { id, body }: { readonly id: string; readonly body?: unknown },
): OpenRun {
  const { raw } = reply
  const principal = callerOf(request)
  const keys = readCancelKeys({ headers: request.headers, body })
  const handle = cancellations.open({ id, owner: principal.id, ...keys })
  // A GET only polls a model, and has it do nothing.
  const span = request.method === 'GET' ? undefined : beginSpan(tracing, request)
  // Only requests that begin work are shown.
  const { url: route = 'unmatched' } = request.routeOptions
  const { sessionId: session } = keys
  const batch = request.sender?.batch
  const call = { id, requestId: request.id, owner: principal.id, route, batch }
  const watch = activity?.open(session === undefined ? call : { ...call, session })
  request.watch = watch
  const places = [reportPlace(request, reply), reportLoad(request, reply)] as const
  let isDetached = false
  whenClosed(raw, () => {
    const hasLeft = !raw.writableFinished
    if (!isDetached && hasLeft) handle.cancel('client-gone')
    watch?.replied()
    span?.replied({ status: hasLeft ? 499 : raw.statusCode, goesOn: isDetached, ...namesOf(request.generation) })
  })
  return {
    caller: {
      id,
      principal,
      receivedAtMs: now(),
      onQueued: (placeOf) => {
        places[0](placeOf)
        watch?.onQueued(placeOf)
      },
      onLoading: (placeOf) => {
        places[1](placeOf)
        watch?.onLoading(placeOf)
      },
      ...(watch !== undefined && { watch }),
      onPlaced: reportAffinity(reply),
      ...laneOf(request),
      ...stoppedBy(handle),
      ...clientIdsOf(request, keys, span),
    },
    handle,
    detach: () => {
      isDetached = true
    },
  }
}

function laneOf({ sender }: FastifyRequest): Pick<CallerContext, 'lane' | 'onWanted' | 'onRead' | 'batch'> {
  if (sender === undefined) return {}
  const { batch, onWanted, onRead } = sender
  return { lane: 'background', batch, onRead, ...(onWanted !== undefined && { onWanted }) }
}

/** The parts of a context that end its request, and that observe late work. */
export function stoppedBy(
  handle: RunHandle,
): Pick<CallerContext, 'signal' | 'onTokensAfterCancel' | 'onWorkEnded' | 'onLimit' | 'onModel'> {
  return {
    signal: handle.signal,
    onTokensAfterCancel: (count) => handle.addTokensAfterCancel(count),
    onWorkEnded: () => handle.workEnded(),
    onLimit: (error) => handle.expire(error),
    onModel: (id) => handle.servedBy(id),
  }
}

/** The span of a request; undefined if it is not recorded. */
export function beginSpan(tracing: Watching['tracing'], request: FastifyRequest): RequestSpan | undefined {
  if (tracing === undefined) return undefined
  const { url: route = 'unmatched' } = request.routeOptions
  return tracing.begin({
    method: request.method,
    route,
    key: callerOf(request).id,
    parent: readTrace(request),
    batch: request.sender?.batch,
  })
}

export function namesOf(facts: GenerationFacts | undefined) {
  return { replyId: facts?.generationId, requestedModel: facts?.requestedModel, isStreamed: facts?.isStreamed }
}

/** The trace, which is the client's if no span is recorded, the client's session, and the version that it asks for. */
export function clientIdsOf(
  request: FastifyRequest,
  { sessionId: session }: CancelKeys,
  span: RequestSpan | undefined,
): Pick<CallerContext, 'trace' | 'session' | 'version'> {
  const trace = span ?? readTrace(request)
  const version = request.headers['x-dragoman-version']
  return {
    ...(trace !== undefined && { trace }),
    ...(session !== undefined && { session }),
    ...(typeof version === 'string' && version !== '' && { version }),
  }
}

/** W3C trace context, if well formed. */
function readTrace({ headers: { traceparent, tracestate } }: FastifyRequest): TraceContext | undefined {
  if (typeof traceparent !== 'string' || !/^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}/.test(traceparent)) return undefined
  return { traceparent, ...(typeof tracestate === 'string' && { tracestate }) }
}
