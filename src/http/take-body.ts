import type { FastifyRequest } from 'fastify'

/**
 * The request's body, which the request lets go: a body of megabytes would otherwise live as long as its reply. Pass it on without
 * keeping it in a variable of an asynchronous function.
 */
export function takeBody(request: FastifyRequest): unknown {
  const { body } = request
  request.body = undefined
  return body
}
