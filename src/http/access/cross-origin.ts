import type { IncomingHttpHeaders } from 'node:http'
import { AppError } from '../../contract/errors.ts'
import { readHostName } from './hosts.ts'
import { isLoopback } from './loopback.ts'

type CrossOrigin = {
  /** CORS headers for all replies, errors included; without them a browser hides the reply from its page. */
  replyHeaders(request: IncomingHttpHeaders): Readonly<Record<string, string>>
  /** Whether it is a preflight of an allowed page. Preflights carry no key. */
  isPreflight(method: string, request: IncomingHttpHeaders): boolean
  /** Throws `origin-not-allowed` for a cross-origin request of a page that is not allowed, and for its preflight. */
  check(method: string, request: IncomingHttpHeaders): void
}

/** The reply to a preflight. `*` covers all methods and headers except `authorization`, which must be named. */
export const preflightHeaders = {
  'access-control-allow-methods': '*',
  'access-control-allow-headers': 'authorization, *',
  // Chrome's maximum.
  'access-control-max-age': '7200',
}

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Origins of programs and browser extensions, which no website can claim. */
const ofPrograms = /^(app|tauri|vscode-webview|vscode-file|chrome-extension|moz-extension|safari-web-extension):\/\/[^/]*$/

/**
 * Cross-origin pages: those in `allowedOrigins` (`*`: all; within an origin, `*` is any text without a slash), and on loopback those of
 * programs, may read replies, by the CORS protocol of the Fetch standard, never with browser credentials (keys are sent by code). Requests
 * from other origins are refused, since those without a preflight, such as a POST without a body, would otherwise be executed. They are
 * detected as in Go's `http.CrossOriginProtection`; clients other than browsers are not affected.
 */
export function createCrossOrigin(allowedOrigins: readonly string[]): CrossOrigin {
  const origins = new Set(allowedOrigins)
  const allowsAll = origins.has('*')
  const patterns = allowedOrigins.filter((each) => each.includes('*')).map(originPattern)
  const isListed = (origin: string) => allowsAll || origins.has(origin) || patterns.some((pattern) => pattern.test(origin))
  const isAllowed = ({ origin, host }: IncomingHttpHeaders) =>
    origin !== undefined && (isListed(origin) || (ofPrograms.test(origin) && isLoopback(readHostName(host ?? ''))))
  const varies = origins.size > 0 && !allowsAll ? { vary: 'origin' } : {}
  return {
    replyHeaders(request) {
      const { origin } = request
      if (origin === undefined || !isAllowed(request)) return varies
      return {
        ...(!allowsAll && { vary: 'origin' }),
        'access-control-allow-origin': allowsAll ? '*' : origin,
        'access-control-expose-headers': '*',
      }
    },
    isPreflight: (method, request) =>
      method === 'OPTIONS' && request['access-control-request-method'] !== undefined && isAllowed(request),
    check(method, request) {
      const isPreflight = method === 'OPTIONS' && request['access-control-request-method'] !== undefined
      if ((safeMethods.has(method) && !isPreflight) || isSameOrigin(request) || isAllowed(request)) return
      throw new AppError(
        'origin-not-allowed',
        `requests from pages of '${request.origin ?? 'an unnamed origin'}' are not allowed; to allow them, add the origin to the setting server.allowedOrigins`,
      )
    },
  }
}

/** For example `chrome-extension://*` or `http://localhost:*`. */
function originPattern(text: string): RegExp {
  const parts = text.split('*').map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return new RegExp(`^${parts.join('[^/]*')}$`)
}

/** A page of this server's origin, or not a page. `sec-fetch-site` is reliable even where proxies rewrite `host`. */
function isSameOrigin(request: IncomingHttpHeaders): boolean {
  const site = request['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' || site === 'none'
  const { origin, host } = request
  return origin === undefined || (host !== undefined && URL.canParse(origin) && new URL(origin).host === host.toLowerCase())
}
