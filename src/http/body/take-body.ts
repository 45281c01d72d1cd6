import type { FastifyRequest } from 'fastify'
import type { CallInput } from '../../contract/dialect.ts'
import { AppError } from '../../contract/errors.ts'
import { largeBodyBytes } from './read-body.ts'

/**
 * The request's body, which the request lets go: a body of megabytes would otherwise live as long as its reply. Pass it on without
 * keeping it in a variable of an asynchronous function.
 */
export function takeBody(request: FastifyRequest): Pick<CallInput, 'body' | 'exactBody'> {
  const { body, exactBody } = request
  request.body = undefined
  request.exactBody = undefined
  return { body, ...(exactBody !== undefined && { exactBody }) }
}

/** The same for a route that needs a body. Throws `invalid-json` without one. */
export function takeRequiredBody(request: FastifyRequest): Pick<CallInput, 'body' | 'exactBody'> {
  if (request.body === undefined) throw new AppError('invalid-json', 'the request has no body; send a JSON object')
  return takeBody(request)
}

/** Decoding the body may take so long that others are served before the request is run. */
export function hasLargeBody({ bodyShare }: FastifyRequest): boolean {
  return (bodyShare?.sizeBytes ?? 0) > largeBodyBytes
}
