import { randomUUID } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CallInput } from '../../contract/dialect.ts'
import { AppError } from '../../contract/errors.ts'
import type { NameOf } from '../../contract/field.ts'
import type { Principal } from '../../contract/principal.ts'
import { callerOf } from '../access/caller.ts'
import { takeBody } from '../body/take-body.ts'
import { jsonReply } from '../reply/json-reply.ts'
import { addIgnored } from '../reply/reply-headers.ts'
import type { Watching } from './deps.ts'
import { type CallerContext, openRun } from './open-run.ts'

/** A decoded call whose reply is one JSON value. */
export type DecodedCall = {
  readonly ignored: readonly string[]
  /** The caller's names for paths in the canonical request. */
  readonly nameOf?: NameOf
  /** The context's signal is aborted when the caller disconnects or the call is cancelled. `reply`: for its headers. */
  run(context: CallerContext, reply: FastifyReply): Promise<unknown>
}

/** Throws `AppError` for an invalid body. */
type DecodeCall = (
  body: unknown,
  input: Pick<CallInput, 'exactBody' | 'headers'> & { readonly principal: Principal },
) => DecodedCall

/** The handler of calls with a body and a JSON reply. */
export function createCallHandler(deps: Watching, decode: DecodeCall) {
  return createBodilessCallHandler(deps, (body, input) => {
    if (body === undefined) throw new AppError('invalid-json', 'the request has no body; send a JSON object')
    return decode(body, input)
  })
}

/** As `createCallHandler`, for calls without a required body; `decode` gets undefined without one. */
export function createBodilessCallHandler(deps: Watching, decode: DecodeCall) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const { body, exactBody } = takeBody(request)
    const input = { headers: request.headers, principal: callerOf(request), ...(exactBody !== undefined && { exactBody }) }
    const { ignored, nameOf, run } = decode(body, input)
    addIgnored(reply, ignored)
    try {
      return jsonReply(reply, await withRun(deps, request, reply, (caller) => run(caller, reply)))
    } catch (error) {
      throw nameOf === undefined ? error : AppError.from(error).inWordsOf(nameOf)
    }
  }
}

/** Runs work for a caller; it is cancelled when the caller disconnects. */
export async function withRun<T>(
  deps: Watching,
  request: FastifyRequest,
  reply: FastifyReply,
  work: (caller: CallerContext) => Promise<T>,
): Promise<T> {
  const { caller, handle } = openRun(deps, { request, reply }, { id: `call-${randomUUID()}` })
  try {
    return await work(caller)
  } finally {
    handle.close()
  }
}
