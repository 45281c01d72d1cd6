import type { FastifyInstance } from 'fastify'
import type { Listening } from '../run/deps.ts'
import { createDialectHandler, type DialectDeps } from '../run/serve-dialect.ts'

/** The protocols that the program around this server adds. */
export function addAddedDialects(app: FastifyInstance, deps: DialectDeps & Pick<Listening, 'dialects'>): void {
  for (const { path, dialect } of deps.dialects ?? []) {
    const config = { scope: 'inference', encodeError: dialect.encodeError } as const
    app.post(path, { config }, createDialectHandler(deps, dialect))
  }
}
