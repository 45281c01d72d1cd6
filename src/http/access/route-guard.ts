import type { FastifyContextConfig, FastifyInstance } from 'fastify'
import { AppError } from '../../contract/errors.ts'

/** The methods of a path that are served. */
export type ServedRoute = {
  readonly path: string
  readonly methods: readonly string[]
  configOf(method: string): FastifyContextConfig
}

/** What each method of a path is registered with. */
type Route = Map<string, FastifyContextConfig>

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
    const known: Route = routes.get(url) ?? new Map()
    for (const name of [method].flat()) known.set(name, config)
    routes.set(url, known)
  })
  const refuseOtherMethods = () => {
    isComplete = true
    for (const [url, methods] of routes) {
      const allowed = servedMethods(methods).join(', ')
      const [first = {}] = methods.values()
      app.route({
        method: app.supportedMethods.filter((method) => !methods.has(method)),
        url,
        config: { scope: 'public', ...encodingOf(first) },
        onRequest: (request, reply) => {
          reply.header('allow', allowed)
          throw new AppError('method-not-allowed', `${request.method} is not allowed here; allowed: ${allowed}`)
        },
        handler: () => undefined,
      })
    }
  }
  const served = () =>
    [...routes].map(([path, route]) => ({
      path,
      methods: servedMethods(route),
      configOf: (method: string) => route.get(method) ?? {},
    }))
  return { refuseOtherMethods, routes: served }
}

function servedMethods(route: Route): readonly string[] {
  return [...route].filter(([, config]) => config.isRefusal !== true).map(([name]) => name)
}

function encodingOf({ encodeError, encodeErrorOf }: FastifyContextConfig): FastifyContextConfig {
  return { ...(encodeError !== undefined && { encodeError }), ...(encodeErrorOf !== undefined && { encodeErrorOf }) }
}
