import type { IncomingHttpHeaders } from 'node:http'
import { AppError } from '../contract/errors.ts'

export type CrossOrigin = {
  /** The headers of every reply to such a request, errors included, without which a browser hides it from its page. */
  replyHeaders(request: IncomingHttpHeaders): Readonly<Record<string, string>>
  /** Whether it is a browser's question whether a page that is allowed may send a request. It carries no key. */
  isPreflight(method: string, request: IncomingHttpHeaders): boolean
  /** Throws `origin-not-allowed` for a request that a page from elsewhere has made its browser send. */
  check(method: string, request: IncomingHttpHeaders): void
}

/** What a preflight is answered. `*` stands for every method and header but `authorization`, which must be named. */
export const preflightHeaders = {
  'access-control-allow-methods': '*',
  'access-control-allow-headers': 'authorization, *',
  // The most that Chrome keeps it.
  'access-control-max-age': '7200',
}

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Web pages from elsewhere: those in `allowedOrigins` (`*`: all) may read replies, by the CORS protocol of the Fetch
 * standard, never with a browser's credentials (keys are sent by code). All others can read nothing, and do nothing
 * either: a request that needs no preflight, such as a POST without a body, would otherwise be carried out unseen. Which
 * requests those are is told as Go's `http.CrossOriginProtection` tells it; clients other than browsers are not concerned.
 */
export function createCrossOrigin(allowedOrigins: readonly string[]): CrossOrigin {
  const origins = new Set(allowedOrigins)
  const allowsAll = origins.has('*')
  const isAllowed = (origin: string | undefined): origin is string => origin !== undefined && (allowsAll || origins.has(origin))
  const varies = origins.size > 0 && !allowsAll ? { vary: 'origin' } : {}
  return {
    replyHeaders({ origin }) {
      if (!isAllowed(origin)) return varies
      return {
        ...varies,
        'access-control-allow-origin': allowsAll ? '*' : origin,
        'access-control-expose-headers': '*',
      }
    },
    isPreflight: (method, request) =>
      method === 'OPTIONS' && request['access-control-request-method'] !== undefined && isAllowed(request.origin),
    check(method, request) {
      if (safeMethods.has(method) || isFromHere(request) || isAllowed(request.origin)) return
      throw new AppError(
        'origin-not-allowed',
        `pages of '${request.origin ?? 'an unnamed origin'}' may not do this; if they should, add it to the setting server.allowedOrigins`,
      )
    },
  }
}

/** A page of this server's own origin, or no page at all. The first header is what the browser sees, whatever proxies make of `host`. */
function isFromHere(request: IncomingHttpHeaders): boolean {
  const site = request['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' || site === 'none'
  const { origin, host } = request
  return origin === undefined || (host !== undefined && URL.canParse(origin) && new URL(origin).host === host.toLowerCase())
}
