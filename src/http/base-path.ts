import { AppError } from '../contract/errors.ts'
import { encodeOpenaiError } from '../dialect/openai/errors.ts'

/** The path below `basePath` (`/api`, or `''`); undefined for one elsewhere. */
export function pathBelow(basePath: string, path: string): string | undefined {
  if (path === basePath) return '/'
  return path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : undefined
}

/**
 * A URL without `basePath` at the beginning of its path. Others stay unchanged: a proxy in front may have removed it, and health checks
 * come without it.
 */
export function withoutBasePath(basePath: string, url: string): string {
  // Requests to proxies contain the whole address.
  const [, origin = '', path = '', query = ''] = /^(https?:\/\/[^/?]*)?([^?]*)(.*)$/s.exec(url) ?? []
  const below = pathBelow(basePath, path)
  return below === undefined ? url : origin + below + query
}

/** The reply to a request for a path outside of the base path. */
export function replyElsewhere(basePath: string, sent: { readonly method: string; readonly path: string }): Response {
  return replyOf(
    new AppError('route-not-found', `there is no route ${sent.method} ${sent.path}: all of them are below ${basePath}`),
  )
}

/** The reply to a request whose body another program has already read: waiting for it would never end. */
export function replyRead(): Response {
  const message =
    'the body was read before it came to Dragoman: add its handler before a parser of bodies, such as express.json()'
  return replyOf(new AppError('internal', message))
}

function replyOf(error: AppError): Response {
  const { status, body } = encodeOpenaiError(error)
  return Response.json(body, { status })
}
