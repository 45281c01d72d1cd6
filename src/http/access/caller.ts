import type { FastifyRequest } from 'fastify'
import type { Principal } from '../../contract/principal.ts'

/** The caller of a route that requires a scope. */
export function callerOf({ principal, routeOptions }: FastifyRequest): Principal {
  if (principal === undefined) throw new Error(`the route ${routeOptions.url} knows its caller only if it requires a scope`)
  return principal
}
