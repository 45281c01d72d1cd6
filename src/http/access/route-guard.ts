import type { FastifyContextConfig, FastifyInstance } from 'fastify'
import { AppError } from '../../contract/errors.ts'

/** The methods of a path that are served. */
export type ServedRoute = { readonly path: string; readonly methods: readonly string[] }

type Route = {
  readonly methods: Set<string>
  readonly refused: Set<string>
  /** How its errors are encoded. */
  readonly encoding: Pick<FastifyContextConfig, 'encodeError' | 'encodeErrorOf'>
}

/**
 * Throws for routes without a scope. Call `refuseOtherMethods` after all routes are added: it adds a 405 reply for the other methods
 * of each URL.
 */
export function watchRoutes(app: FastifyInstance): { refuseOtherMethods(): void; routes(): readonly ServedRoute[] } {
  const routes = new Map<string, Route>()
  let isComplete = false
  app.addHook('onRoute', ({ method, url, config }) => {
    if (config?.scope === undefined) throw new Error(`the route ${method} ${url} declares no scope`)
    if (isComplete) return
    const known = routes.get(url) ?? { methods: new Set(), refused: new Set(), encoding: encodingOf(config) }
    for (const name of [method].flat()) {
      known.methods.add(name)
      if (config.isRefusal === true) known.refused.add(name)
    }
    routes.set(url, known)
  })
  const refuseOtherMethods = () => {
    isComplete = true
    for (const [url, { methods, refused, encoding }] of routes) {
      const allowed = servedMethods({ methods, refused }).join(', ')
      app.route({
        method: app.supportedMethods.filter((method) => !methods.has(method)),
        url,
        config: { scope: 'public', ...encoding },
        onRequest: (request, reply) => {
          reply.header('allow', allowed)
          throw new AppError('method-not-allowed', `${request.method} is not allowed here; allowed: ${allowed}`)
        },
        handler: () => undefined,
      })
    }
  }
  return { refuseOtherMethods, routes: () => [...routes].map(([path, route]) => ({ path, methods: servedMethods(route) })) }
}

function servedMethods({ methods, refused }: Pick<Route, 'methods' | 'refused'>): readonly string[] {
  return [...methods].filter((name) => !refused.has(name))
}

function encodingOf({ encodeError, encodeErrorOf }: FastifyContextConfig): Route['encoding'] {
  return { ...(encodeError !== undefined && { encodeError }), ...(encodeErrorOf !== undefined && { encodeErrorOf }) }
}
