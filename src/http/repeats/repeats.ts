import { createHash, type Hash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ChurnMap } from '../../base/churn.ts'
import { callerOf } from '../access/caller.ts'
import { KeptReply } from './kept-reply.ts'

type Exchange = { readonly request: FastifyRequest; readonly reply: FastifyReply }

type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown

type Known = {
  readonly kept: KeptReply
  /** The first request, and the reply that its handler writes to. */
  readonly first: Exchange
  /** What the handler returns; undefined where a stream has begun. */
  readonly begun: Promise<unknown>
  readonly idempotencyKey: string | undefined
  readonly clientId: string | undefined
}

/**
 * Recognises requests that are repeated because their client has lost the reply: the same caller, URL and body, byte by byte. They get the
 * reply to the first request, from its beginning, instead of a second generation.
 */
export class Repeats {
  readonly #graceMs: number
  readonly #known = new ChurnMap<string, Set<Known>>()
  readonly #bodies = new WeakMap<FastifyRequest, Hash>()

  constructor({ graceMs }: { readonly graceMs: number }) {
    this.#graceMs = graceMs
  }

  /** How many replies are kept. */
  get size(): number {
    return [...this.#known.values()].reduce((sum, { size }) => sum + size, 0)
  }

  /** Wraps the handlers of all routes to come whose replies may be repeated. */
  addTo(app: FastifyInstance): void {
    app.addHook('onRoute', (route) => {
      if (route.config?.isRepeatable !== true) return
      const handler = route.handler.bind(app)
      route.preParsing = (request, _reply, payload, done) => {
        const hash = createHash('sha256')
        this.#bodies.set(request, hash)
        payload.on('data', (piece: Buffer) => hash.update(piece))
        done(null, payload)
      }
      route.handler = (request, reply) => this.#answer({ request, reply }, handler)
    })
  }

  async #answer({ request, reply }: Exchange, handler: Handler): Promise<unknown> {
    const key = JSON.stringify([callerOf(request).id, request.url, this.#bodies.get(request)?.digest('base64')])
    const repeated = this.#find(key, request)
    const { kept, begun, first } = repeated ?? this.#start(key, { request, reply }, handler)
    const { raw } = reply
    kept.join(raw)
    if (repeated !== undefined) request.body = undefined
    const payload = await begun
    if (repeated !== undefined) {
      request.generation = first.request.generation
      reply.header('x-dragoman-replayed', 'true')
    }
    for (const [name, value] of Object.entries(kept.headers ?? first.reply.getHeaders())) {
      if (value !== undefined && name !== 'content-length' && !reply.hasHeader(name)) reply.header(name, value)
    }
    if (payload !== undefined) return payload
    reply.hijack()
    if (!kept.headersSent || raw.destroyed) return
    raw.writeHead(kept.statusCode, reply.getHeaders() as Parameters<ServerResponse['writeHead']>[1])
    kept.streamTo(raw)
    return
  }

  /**
   * The reply that a request repeats: one whose clients have all left or, where the request names itself by an id of its client's, also one
   * whose connection is half-open.
   */
  #find(key: string, request: FastifyRequest): Known | undefined {
    const { idempotencyKey, clientId } = idsOf(request)
    for (const known of this.#known.get(key) ?? []) {
      if (known.idempotencyKey !== idempotencyKey) continue
      const isNamed = idempotencyKey !== undefined || (clientId !== undefined && known.clientId === clientId)
      if (isNamed || known.kept.isOrphan) return known
    }
    return undefined
  }

  /** Keeps the reply to a request until it is delivered, or its clients have been gone for the grace time. */
  #start(key: string, { request, reply }: Exchange, handler: Handler): Known {
    const all = this.#known.get(key) ?? new Set()
    this.#known.set(key, all)
    const onForget = () => {
      all.delete(known)
      if (all.size === 0 && this.#known.get(key) === all) this.#known.delete(key)
    }
    const kept = new KeptReply({ graceMs: this.#graceMs, onForget })
    const first = { request, reply: Object.create(reply, { raw: { value: kept } }) as FastifyReply }
    const begun = Promise.race([kept.started, run(handler, first, kept)])
    const known: Known = { kept, first, begun, ...idsOf(request) }
    all.add(known)
    return known
  }
}

/** A repetition of what has failed or was cancelled is a new attempt. */
async function run(handler: Handler, { request, reply }: Exchange, kept: KeptReply): Promise<unknown> {
  try {
    const payload = await handler(request, reply)
    const { usage, finishReasons } = request.generation ?? {}
    const hasFailed = kept.headersSent && usage === undefined
    if (hasFailed || finishReasons?.includes('cancelled') === true) kept.forget()
    return payload instanceof Readable ? Buffer.concat(await payload.toArray()) : payload
  } catch (error) {
    kept.forget()
    throw error
  } finally {
    kept.end()
  }
}

function idsOf({ headers }: FastifyRequest): Pick<Known, 'idempotencyKey' | 'clientId'> {
  const { 'idempotency-key': key, 'x-client-request-id': clientId } = headers
  return {
    idempotencyKey: typeof key === 'string' ? key : undefined,
    clientId: typeof clientId === 'string' ? clientId : undefined,
  }
}
