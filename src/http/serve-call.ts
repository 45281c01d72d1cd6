import { randomUUID } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../contract/errors.ts'
import type { NameOf } from '../contract/field.ts'
import type { ServerDeps } from './deps.ts'
import { type CallerContext, openRun } from './open-run.ts'
import { encodeIgnored } from './reply-headers.ts'

/** A decoded call that is answered with one JSON value. */
export type Call = {
  readonly ignored: readonly string[]
  /** What the caller calls a place of the call's canonical request. */
  readonly nameOf?: NameOf
  /** The context's signal is aborted when the caller hangs up, or the call is cancelled. */
  run(context: CallerContext): Promise<unknown>
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
    const { ignored, nameOf, run } = decode(request.body)
    const header = encodeIgnored(ignored)
    if (header !== '') reply.header('x-dragoman-ignored', header)
    try {
      return await withRun(deps, request, reply, run)
    } catch (error) {
      throw nameOf === undefined ? error : AppError.from(error).inWordsOf(nameOf)
    }
  }
}

/** Does something for a caller, until it hangs up. */
export async function withRun<T>(
  deps: ServerDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  work: (caller: CallerContext) => Promise<T>,
): Promise<T> {
  const { caller, handle } = openRun(deps, request, reply, `call-${randomUUID()}`)
  try {
    return await work(caller)
  } finally {
    handle.close()
  }
}
