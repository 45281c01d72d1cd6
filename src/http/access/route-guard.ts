import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../contract/errors.ts'

export type ServedRoute = {
  readonly path: string
  readonly methods: readonly string[]
  configOf(method: string): FastifyContextConfig
}

/** The configuration of each method of a path. */
type Route = Map<string, FastifyContextConfig>

/** Throws for routes without a scope. */
export function watchRoutes(app: FastifyInstance) {
  const routes = new Map<string, Route>()
  app.addHook('onRoute', ({ method, url, config }) => {
    if (config?.scope === undefined) throw new Error(`the route ${method} ${url} declares no scope`)
    const known: Route = routes.get(url) ?? new Map()
    for (const name of [method].flat()) known.set(name, config)
    routes.set(url, known)
  })

  /** A 405 for a request without a route whose path has one with another method. */
  function refuseMethod(request: FastifyRequest, reply: FastifyReply): AppError | undefined {
    const path = asRouted(request.url)
    const route = routes.get(path) ?? [...routes].find(([pattern]) => fits(pattern, path))?.[1]
    if (route === undefined) return undefined
    const allowed = servedMethods(route).join(', ')
    const error = new AppError('method-not-allowed', `${request.method} is not allowed here; allowed: ${allowed}`)
    const [{ encodeError, encodeErrorOf } = {}] = route.values()
    reply.header('allow', allowed)
    request.absentReply = (encodeErrorOf?.(request) ?? encodeError)?.(error, request.id)
    return error
  }

  /** Call it after all routes are added: a path such as `/things/all` is not an id for the methods of `/things/:id`. */
  function keepPathsApart(): void {
    const patterns = [...routes].filter(([path]) => /[:*]/.test(path))
    for (const [path, route] of routes) {
      const others = patterns.filter(([pattern]) => pattern !== path && fits(pattern, path))
      const method = [...new Set(others.flatMap(([, other]) => [...other.keys()]))].filter((name) => !route.has(name))
      if (method.length === 0) continue
      const onRequest = (request: FastifyRequest, reply: FastifyReply) => {
        throw refuseMethod(request, reply)
      }
      app.route({ method, url: path, config: { scope: 'public', isRefusal: true }, onRequest, handler: () => undefined })
    }
  }

  const served = (): readonly ServedRoute[] =>
    [...routes].map(([path, route]) => ({
      path,
      methods: servedMethods(route),
      configOf: (method: string) => route.get(method) ?? {},
    }))
  return { refuseMethod, keepPathsApart, routes: served }
}

function servedMethods(route: Route): readonly string[] {
  return [...route].filter(([, config]) => config.isRefusal !== true).map(([name]) => name)
}

/** The path of a URL as the router reads it: without duplicate or final slashes. */
function asRouted(url: string): string {
  return (url.split('?', 1)[0] ?? '').replace(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '')
}

/** Whether a path matches a pattern, whose parts may be `:name` or, at its end, `*`. */
function fits(pattern: string, path: string): boolean {
  if (!path.startsWith(pattern.slice(0, pattern.search(/[:*]|$/)))) return false
  const wanted = pattern.split('/')
  const parts = path.split('/')
  if (wanted.at(-1) === '*' ? parts.length < wanted.length : parts.length !== wanted.length) return false
  return wanted.every((part, at) => part === '*' || part.startsWith(':') || part === parts[at])
}
