import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Ring } from '../../../base/ring.ts'
import { AppError } from '../../../contract/errors.ts'
import type { Principal } from '../../../contract/principal.ts'
import type { Lifecycle, LoadRequest } from '../../../contract/server/lifecycle.ts'
import { encodeLlamaServerError } from '../../../dialect/llama-server/errors.ts'
import { type EndedChange, eventsBetween, momentsOf } from '../../../dialect/llama-server/model-events.ts'
import { readModelName, readRepository } from '../../../dialect/llama-server/model-name.ts'
import { encodeStackError } from '../../../dialect/llama-stack/errors.ts'
import { authorize } from '../../access/auth.ts'
import { callerOf } from '../../access/caller.ts'
import { openEventStream } from '../../reply/event-stream.ts'
import type { GoesOn, Models, Replying, Watching } from '../../run/deps.ts'
import type { ModelQuery } from '../../run/model-query.ts'
import type { CallerContext } from '../../run/open-run.ts'
import { createCallHandler, withRun } from '../../run/serve-call.ts'
import { refuseChange } from '../refuse-model-change.ts'
import { isFromStackClient } from '../routes-models.ts'
import { removeAdded } from './remove-added.ts'

type RouterDeps = Models & Watching & Replying & { readonly goesOn: GoesOn }

/** llama-stack's clients register models on the same path. */
const shared = {
  scope: 'inference',
  encodeErrorOf: (request: FastifyRequest) => (isFromStackClient(request.headers) ? encodeStackError : encodeLlamaServerError),
} as const

/** These routes have one field, the name of a model. */
const nameOf = () => 'model'

/** How often a reader gets new events. */
const everyMs = 250
/** Ended loads and unloads that readers may not have seen yet. */
const keptEnds = 100

/** The routes by which llama-server's clients, started without a model, load, unload, fetch and remove models, and watch them. */
export function addRouterRoutes(app: FastifyInstance, deps: RouterDeps): void {
  const { lifecycle } = deps
  const ends = new Ring<EndedChange>(keptEnds)
  /** The names under which clients fetch models, by their ids. */
  const fetched = new Map<string, string>()
  app.get(
    '/models/sse',
    { config: { scope: 'inference', encodeError: encodeLlamaServerError, isPolled: true } },
    (request, reply) => {
      const viewer = callerOf(request)
      const look = async () => {
        const shown = deps.models
          .list(viewer)
          .map(async (model) => ({ ...model, file: await deps.modelFiles?.describe(model.id) }))
        return momentsOf(await Promise.all(shown), viewer.models === undefined ? (lifecycle?.loads() ?? []) : [], fetched)
      }
      const writer = openEventStream(deps, reply, { heartbeat: ': \n\n' })
      reply.hijack()
      writer.write(': \n\n')
      return watchModels(look, {
        ends,
        goesOn: async () => !reply.raw.destroyed && (await deps.goesOn(request)),
        async send(events) {
          writer.write(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''))
          await writer.waitForReader()
        },
      }).finally(() => writer.end())
    },
  )
  if (lifecycle === undefined) {
    for (const method of ['POST', 'DELETE'] as const) {
      app.route({ method, url: '/v1/models', config: { ...shared, isRefusal: true }, handler: (_, reply) => refuseChange(reply) })
    }
    return
  }
  addChanges(app, { ...deps, lifecycle }, { ends, fetched })
}

type Watched = {
  readonly ends: Ring<EndedChange>
  goesOn(): Promise<boolean>
  send(events: readonly object[]): Promise<void>
}

/** Sends what changes from now on. */
async function watchModels(look: () => Promise<ReturnType<typeof momentsOf>>, { ends, goesOn, send }: Watched): Promise<void> {
  let seen = ends.count
  let before = await look()
  while (await goesOn()) {
    await pause(everyMs)
    const now = await look()
    const ended: EndedChange[] = []
    for (seen = Math.max(seen, ends.first); seen < ends.count; seen++) ended.push(...[ends.at(seen) ?? []].flat())
    const events = eventsBetween(before, now, ended)
    before = now
    if (events.length > 0) await send(events)
  }
}

type ChangeDeps = RouterDeps & { readonly lifecycle: Lifecycle }
type Changes = { readonly ends: Ring<EndedChange>; readonly fetched: Map<string, string> }

function addChanges(app: FastifyInstance, deps: ChangeDeps, { ends, fetched }: Changes): void {
  const { lifecycle } = deps
  const admin = { config: { scope: 'admin', encodeError: encodeLlamaServerError } } as const
  /** The reply does not wait for the load: events and `GET /models` report its state. */
  const begin = async (wanted: LoadRequest, principal: Principal) => {
    try {
      await lifecycle.load(wanted, { principal, signal: new AbortController().signal })
      return true
    } catch (error) {
      deps.log.warn({ err: error, model: wanted.name }, 'a load failed')
      return false
    }
  }
  app.post(
    '/models/load',
    admin,
    createCallHandler(deps, (body, { principal }) => {
      const { name, ignored } = readModelName(body)
      const run = async ({ signal }: CallerContext) => {
        const { id } = await lifecycle.find({ name }, signal)
        const load = begin({ name, settings: {}, reloads: false, endsRequests: false }, principal)
        void load.then(() => ends.push({ model: id }))
        return { success: true }
      }
      return { ignored, nameOf, run }
    }),
  )
  app.post(
    '/models/unload',
    admin,
    createCallHandler(deps, (body, { principal }) => {
      const { name, ignored } = readModelName(body)
      const run = async () => {
        ends.push({ model: await lifecycle.unload(name, { endsRequests: false, principal }) })
        return { success: true }
      }
      return { ignored, nameOf, run }
    }),
  )
  const download = createCallHandler(deps, (body, { principal }) => {
    authorize(principal, 'admin')
    const { name, source, ignored } = readRepository(body)
    const run = async ({ signal }: CallerContext) => {
      if (isServed(deps, name)) throw new AppError('invalid-request', `model '${name}' already exists`, { param: 'model' })
      const { id } = await lifecycle.find(source, signal).catch((error: unknown) => {
        const { code, message } = AppError.from(error).inWordsOf(nameOf)
        // llama-server's clients take a 404 for a route that is missing.
        const isMissing = code === 'model-not-found' || code === 'model-unavailable'
        throw new AppError(isMissing ? 'invalid-request' : code, message, { param: 'model', cause: error })
      })
      fetched.set(id, name)
      const load = begin({ ...source, alias: name, settings: {}, reloads: false, endsRequests: false, isBeside: true }, principal)
      void load.then((isFetched) => {
        fetched.delete(id)
        ends.push({ model: name, isFetched })
      })
      return { success: true }
    }
    return { ignored, run }
  })
  app.post('/v1/models', { config: shared }, (request, reply) => {
    if (isRegistration(request)) return refuseChange(reply)
    return download(request, reply)
  })
  app.delete<ModelQuery>('/v1/models', { config: shared }, (request, reply) =>
    withRun(deps, request, reply, async ({ principal }) => {
      authorize(principal, 'admin')
      const { model } = request.query
      if (typeof model !== 'string' || model === '') {
        throw new AppError('invalid-request', 'model is missing: send the id of a model as ?model=', { param: 'model' })
      }
      await removeAdded(deps, model, principal)
      return { success: true }
    }),
  )
}

function isServed({ models }: Models, name: string): boolean {
  return models.list({}).some(({ id, aliases }) => [id, ...aliases].some((known) => known.toLowerCase() === name.toLowerCase()))
}

function isRegistration({ surface, headers }: FastifyRequest): boolean {
  return surface === 'llama-stack' || isFromStackClient(headers)
}
