import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CallInput } from '../../contract/dialect.ts'
import { AppError } from '../../contract/errors.ts'
import { largeBodyBytes } from './read-body.ts'

/**
 * Takes the request's body, which the request then no longer holds: megabytes would otherwise live as long as its reply. Pass it on without
 * keeping it in a variable of an asynchronous function.
 */
export function takeBody(request: FastifyRequest): Pick<CallInput, 'body' | 'exactBody'> {
  const { body, exactBody } = request
  request.body = undefined
  request.exactBody = undefined
  return { body, ...(exactBody !== undefined && { exactBody }) }
}

/** As `takeBody`, for a route that needs a body. Throws `invalid-json` without one. */
export function takeRequiredBody(request: FastifyRequest): Pick<CallInput, 'body' | 'exactBody'> {
  if (request.body === undefined) throw new AppError('invalid-json', 'the request has no body; send a JSON object')
  return takeBody(request)
}

/** Whether decoding the body may take so long that other requests should be served before this one runs. */
export function hasLargeBody({ bodyShare }: FastifyRequest): boolean {
  return (bodyShare?.sizeBytes ?? 0) > largeBodyBytes
}

/** A hook for a route that takes JSON under any media type, or under none. */
export function takeAsJson({ headers }: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  headers['content-type'] = 'application/json'
  done()
}
