import { AppError } from '../contract/errors.ts'
import { encodeOpenaiError } from '../dialect/openai/errors.ts'

/** The path below `basePath` (`/api`, or `''`); undefined for one elsewhere. */
export function pathBelow(basePath: string, path: string): string | undefined {
  if (path === basePath) return '/'
  return path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : undefined
}

/**
 * A URL without `basePath` at the beginning of its path. Others stay as they are: a proxy in front may have removed it, and health checks
 * come without.
 */
export function withoutBasePath(basePath: string, url: string): string {
  if (basePath === '') return url
  // Requests to proxies have the whole address.
  const [origin = ''] = /^https?:\/\/[^/?]*/.exec(url) ?? []
  if (!url.startsWith(basePath, origin.length)) return url
  const rest = url.slice(origin.length + basePath.length)
  if (rest === '' || rest.startsWith('?')) return `${origin}/${rest}`
  return rest.startsWith('/') ? origin + rest : url
}

/** The reply to a request for a path elsewhere, which no route of ours answers. */
export function replyElsewhere(basePath: string, sent: { readonly method: string; readonly path: string }): Response {
  const message = `there is no route ${sent.method} ${sent.path}: all of them are below ${basePath}`
  const { status, body } = encodeOpenaiError(new AppError('route-not-found', message))
  return Response.json(body, { status })
}
