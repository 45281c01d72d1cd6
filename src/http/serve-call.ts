import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../contract/errors.ts'
import type { ServerDeps } from './deps.ts'
import { encodeIgnored } from './reply-headers.ts'

/** A decoded call that is answered with one JSON value. */
export type Call = {
  readonly ignored: readonly string[]
  /** The signal is aborted when the caller hangs up. */
  run(signal: AbortSignal): Promise<unknown>
}

/** The handler of calls that read a body and answer it whole. `decode` throws `AppError` for a body that is not valid. */
export function createCallHandler(deps: ServerDeps, decode: (body: unknown) => Call) {
  return createBodilessCallHandler(deps, (body) => {
    if (body === undefined) throw new AppError('invalid-json', 'the request has no body; send a JSON object')
    return decode(body)
  })
}

/** The same for calls that need no body: without one, `decode` is given undefined. */
export function createBodilessCallHandler(deps: ServerDeps, decode: (body: unknown) => Call) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const call = decode(request.body)
    const ignored = encodeIgnored(call.ignored)
    if (ignored !== '') reply.header('x-dragoman-ignored', ignored)
    const { signal, close } = hangUpSignal(deps, reply.raw)
    try {
      return await call.run(signal)
    } finally {
      close()
    }
  }
}

/** Aborted when the caller hangs up, or the server shuts down. Call `close` when the reply is known. */
export function hangUpSignal(
  { cancellations, metrics }: Pick<ServerDeps, 'cancellations' | 'metrics'>,
  raw: ServerResponse,
): { readonly signal: AbortSignal; close(): void } {
  const id = `call-${randomUUID()}`
  const signal = cancellations.open(id, raw.req.socket)
  const onClose = () => {
    if (!raw.writableFinished && cancellations.cancel(id, 'client-gone')) metrics.requestsCancelled('client-gone')
  }
  raw.once('close', onClose)
  if (raw.destroyed) onClose()
  return { signal, close: () => cancellations.close(id) }
}
