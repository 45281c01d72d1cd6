import type { FastifyReply, FastifyRequest } from 'fastify'
import { ChurnMap } from '../../base/churn.ts'
import type { RunHandle } from '../../core/cancel/cancellations.ts'
import { callerOf } from '../access/caller.ts'
import { Recording } from '../reply/recording.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The SHA-256 of the body; undefined where repetitions are not recognised. */
    bodyHash: string | undefined
    /** Of a request that may be repeated. */
    recording: Recording | undefined
  }
}

type Known = { readonly recording: Recording; readonly idempotencyKey: string | undefined; readonly clientId: string | undefined }

/**
 * Recognises requests that are repeated because their client has lost the reply: the same caller, URL and body, byte by byte. They get the
 * reply of the first request, from its beginning, instead of a second generation.
 */
export class Retries {
  readonly #graceMs: number
  readonly #known = new ChurnMap<string, Set<Known>>()

  constructor({ graceMs }: { readonly graceMs: number }) {
    this.#graceMs = graceMs
  }

  /**
   * The reply that a request repeats: one whose clients have all left or, where the request names itself by an id of its client's, also one
   * whose connection only looks open.
   */
  find(request: FastifyRequest): Recording | undefined {
    const { idempotencyKey, clientId } = idsOf(request)
    for (const known of this.#known.get(keyOf(request) ?? '') ?? []) {
      if (known.idempotencyKey !== idempotencyKey) continue
      const isNamed = idempotencyKey !== undefined || (clientId !== undefined && known.clientId === clientId)
      if (isNamed || known.recording.isOrphan) return known.recording
    }
    return undefined
  }

  /** Keeps the reply to a request until it is delivered, or its client has been gone for the grace time. */
  record(request: FastifyRequest, reply: FastifyReply, handle: RunHandle): Recording | undefined {
    const key = keyOf(request)
    if (key === undefined) return undefined
    const all = this.#known.get(key) ?? new Set()
    this.#known.set(key, all)
    const forget = () => {
      all.delete(known)
      if (all.size === 0 && this.#known.get(key) === all) this.#known.delete(key)
    }
    const recording = new Recording({ request, reply, handle, graceMs: this.#graceMs, onForget: forget })
    const known: Known = { recording, ...idsOf(request) }
    all.add(known)
    request.recording = recording
    return recording
  }

  /** How many replies are kept. */
  get size(): number {
    return [...this.#known.values()].reduce((sum, { size }) => sum + size, 0)
  }
}

function keyOf(request: FastifyRequest): string | undefined {
  return request.bodyHash === undefined ? undefined : JSON.stringify([callerOf(request).id, request.url, request.bodyHash])
}

function idsOf({ headers }: FastifyRequest): Omit<Known, 'recording'> {
  const { 'idempotency-key': key, 'x-client-request-id': clientId } = headers
  return {
    idempotencyKey: typeof key === 'string' ? key : undefined,
    clientId: typeof clientId === 'string' ? clientId : undefined,
  }
}
