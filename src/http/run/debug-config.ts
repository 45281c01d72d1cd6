import type { FastifyReply, FastifyRequest } from 'fastify'
import type { RequestSnapshot } from '../../contract/server/activity.ts'
import { readDebugConfig } from '../../dialect/mlc/debug-config.ts'
import { encodeEngineMetrics, encodeMetricsChunk } from '../../dialect/mlc/engine-metrics.ts'
import { callerOf } from '../access/caller.ts'
import { openEventStream } from '../reply/event-stream.ts'
import { withModel } from './default-model.ts'
import type { Models, Operating, Replying, Watching } from './deps.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

type DebugDeps = Models & Watching & Operating & Replying

/** More than a server keeps. */
const allRequests = 10_000

/** Wraps a handler for requests that may have a `debug_config`: only operators' requests, and only with `server.debug`. */
export function withDebugConfig(deps: DebugDeps, handler: Handler, object: string): Handler {
  if (deps.debugs !== true) return handler
  return (request, reply) => {
    const debugged = callerOf(request).scopes.has('admin') ? readDebugConfig(request.body) : undefined
    if (debugged === undefined) return handler(request, reply)
    const { body, pinsPrompt, asksMetrics } = debugged
    if (asksMetrics) return sendMetrics(deps, { request, reply, body, object })
    request.body = body
    if (pinsPrompt) request.pinsPrompt = true
    return handler(request, reply)
  }
}

type Asked = { readonly request: FastifyRequest; readonly reply: FastifyReply; readonly body: unknown; readonly object: string }

async function sendMetrics(deps: DebugDeps, { request, reply, body, object }: Asked): Promise<void> {
  const named = withModel(body, deps, callerOf(request)) as { readonly model: unknown }
  const { id: model } = await deps.models.find(String(named.model), callerOf(request))
  const head = { id: request.id, object, created: Math.floor(Date.now() / 1000), model }
  const chunk = encodeMetricsChunk(head, encodeEngineMetrics(await endedSinceReset(deps, model)))
  const writer = openEventStream(deps, reply, { heartbeat: '' })
  writer.write(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`)
  writer.end()
  reply.hijack()
}

/** The requests of a model that the server remembers: ended ones in order, then running ones. */
export async function requestsOf({ activity }: Watching, model: string): Promise<readonly RequestSnapshot[]> {
  const page = await activity?.read({ recent: allRequests, limit: allRequests })
  return (page?.requests ?? []).filter((request) => request.model === model)
}

export async function endedSinceReset(deps: Watching, model: string): Promise<readonly RequestSnapshot[]> {
  const resetAtMs = resetsOf(deps).get(model) ?? 0
  return (await requestsOf(deps, model)).filter(({ endedAtMs }) => endedAtMs !== undefined && endedAtMs > resetAtMs)
}

/** When the models of a server were last reset. */
const resets = new WeakMap<Watching['cancellations'], Map<string, number>>()

export function resetsOf({ cancellations }: Watching): Map<string, number> {
  const known = resets.get(cancellations) ?? new Map<string, number>()
  resets.set(cancellations, known)
  return known
}
