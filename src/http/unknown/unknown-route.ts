import type { FastifyRequest } from 'fastify'
import { AppError } from '../../contract/errors.ts'
import { nearestRoute, replyOfAbsentProtocol } from './absent-protocols.ts'

type Known = {
  /** The generating routes, for clients of other protocols. */
  readonly served: readonly string[]
  /** The server is one process of several. */
  readonly isOneOfSeveral: boolean
  paths(): readonly string[]
}

/** The reply to a request without a route. A protocol that is not served has its own form (`absentReply`). */
export function createUnknownRoute({ served, isOneOfSeveral, paths }: Known) {
  return (request: FastifyRequest): AppError => {
    // As it is routed.
    const path = pathOf(request.url)
    request.absentReply = replyOfAbsentProtocol(path, served)
    const sent = `there is no route ${request.method} ${pathOf(request.originalUrl)}`
    const reason = isOneOfSeveral ? whyLifecycleIsAbsent(path) : undefined
    if (reason !== undefined) return new AppError('route-not-found', `${sent} ${reason}`)
    const instead = whyRouteIsAbsent(path)
    if (instead !== undefined) return new AppError('route-not-found', `${sent}: ${instead}`)
    const nearest = nearestRoute(path, paths())
    if (nearest !== undefined) return new AppError('route-not-found', `${sent}; did you mean ${nearest}?`)
    return new AppError('route-not-found', /^\/api\/(?!inference\/)/.test(path) ? `${sent}: ${openaiInstead}` : sent)
  }
}

/** Clients show it in a small box. */
const openaiInstead = 'use /v1 as the base URL of an OpenAI-compatible server'

function pathOf(url: string): string {
  return url.split('?', 1)[0] ?? ''
}

/** The routes that load and unload models, or show loaded ones. */
const paths =
  /^\/(api\/inference\/(load|load-progress|status|unload|validate)|api\/v1\/models\/(load|unload|download(\/status\/[^/]+)?)|v1\/(download|lora(s|\/list|\/load|\/unload)?|model\/(embedding\/)?(load|unload)))\/?$/

/** Why a server of several processes lacks such a route; undefined for other paths. */
function whyLifecycleIsAbsent(path: string): string | undefined {
  if (!paths.test(path)) return undefined
  return (
    'on a server of several processes (server.workers is more than 1), because what one process loads, the others would not have; ' +
    'set server.workers to 1, or add a remote model to `models` of the configuration file, which needs no restart'
  )
}

/** The base URL itself and unsupported routes of other servers. The first that matches decides. */
const absent: readonly { readonly paths: RegExp; readonly why: string }[] = [
  {
    paths: /^\/v1$/,
    why: 'it is the base URL of clients, which add a route such as /chat/completions; GET /v1/models lists the models',
  },
  {
    paths: /^\/(api\/inference|v1)\/monitor(\/|$)/,
    why: 'use GET /api/requests for what runs and what has ended, GET /api/events to hear of it, and GET /metrics for counts',
  },
  {
    paths: /^\/microserving(\/|$)/,
    why: 'prompts are not handed from one engine to another: send the whole request to /v1/chat/completions; vLLM and SGLang behind this server may divide it among theirs',
  },
  {
    paths: /^\/debug\/cuda_profiler_(start|stop)$/,
    why: 'profile the process instead: `nsys profile dragoman serve`',
  },
  {
    paths: /^\/debug\/(reset_engine|dump_engine_metrics|dump_event_trace)$/,
    why: 'set `server.debug: on` for it',
  },
  {
    paths: /^\/api\/shutdown$/,
    why: 'a server is stopped where it was started: send its process SIGTERM (Ctrl+C in its terminal), which lets running requests end',
  },
  {
    paths: /^\/api\/system(\/|$)/,
    why: 'run `dragoman doctor` on the machine for its hardware; use GET /api/inference/status for the models, and GET /metrics for the memory in use',
  },
  {
    paths: /^\/api\/auth(\/|$)/,
    why: "there are no accounts to log in to: send an API key as 'authorization: Bearer KEY'; `dragoman keys new` makes one",
  },
  {
    paths: /^\/api\/models(\/|$)/,
    why: 'use GET /v1/models for the models, GET /api/inference/status for their states, and POST /api/inference/validate for one that is not listed',
  },
  {
    paths: /^\/api\/(data-recipe|datasets|export|mcp|providers|rag|settings|train)(\/|$)/,
    why: "of Unsloth Studio's APIs, only inference is served: see docs/reference/compatibility.md",
  },
]

/** Why this server lacks such a route, and what to use instead; undefined for paths of no known client. */
function whyRouteIsAbsent(path: string): string | undefined {
  const plain = path.replace(/\/+$/, '')
  return absent.find(({ paths }) => paths.test(plain))?.why
}
