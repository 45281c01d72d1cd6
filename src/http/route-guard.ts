import type { FastifyInstance } from 'fastify'
import { AppError } from '../contract/errors.ts'
import type { EncodeError } from './error-reply.ts'

/**
 * Throws for routes without a scope. Call `refuseOtherMethods` after all routes are added: it adds a 405 reply for the other methods
 * of each URL.
 */
export function watchRoutes(app: FastifyInstance): { refuseOtherMethods(): void; routes(): Iterable<string> } {
  const routes = new Map<string, { readonly methods: Set<string>; readonly encodeError: EncodeError | undefined }>()
  app.addHook('onRoute', ({ method, url, config }) => {
    if (config?.scope === undefined) throw new Error(`the route ${method} ${url} declares no scope`)
    const known = routes.get(url) ?? { methods: new Set(), encodeError: config.encodeError }
    for (const name of [method].flat()) known.methods.add(name)
    routes.set(url, known)
  })
  const refuseOtherMethods = () => {
    for (const [url, { methods, encodeError }] of [...routes]) {
      const allowed = [...methods].join(', ')
      app.route({
        method: app.supportedMethods.filter((method) => !methods.has(method)),
        url,
        config: { scope: 'public', ...(encodeError !== undefined && { encodeError }) },
        onRequest: (request, reply) => {
          reply.header('allow', allowed)
          throw new AppError('method-not-allowed', `${request.method} is not allowed here; allowed: ${allowed}`)
        },
        handler: () => undefined,
      })
    }
  }
  return { refuseOtherMethods, routes: () => routes.keys() }
}
