import { networkReason } from '../../canonical/failure-reason.ts'
import { AppError } from '../../contract/errors.ts'
import { isTrustedUrl } from '../names/sources.ts'

export type FileRequestOptions = {
  readonly url: string
  /** Sent to the URL's own origin only, never to another one that it redirects to. */
  readonly bearerToken?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  /** Timeout for the headers of each response. */
  readonly responseTimeoutMs: number
  /** Advice that is appended when access is refused. */
  readonly accessHint?: string | undefined
  /** The kind of thing that a 404 reports missing. */
  readonly missing?: string
}

/** A response with status 200, 206 or 416 and an unread body. */
export type FileResponse = {
  readonly response: Response
  readonly host: string
  /** The checksum that Hugging Face sends with the redirect to a large file. */
  readonly linkedSha256?: string
}

const maxRedirects = 10
const redirectStatuses = new Set([301, 302, 303, 307, 308])

/** Aborts a transfer that is too slow. `within` restarts the clock. */
export type Watchdog = {
  readonly signal: AbortSignal
  within(ms: number, message: string): void
  /** Stops the clock. */
  pause(): void
  /** Stops the clock and aborts the rest of the transfer. */
  end(): void
}

/** A watchdog whose signal also follows `outer`. */
export function createWatchdog(outer: AbortSignal | undefined): Watchdog {
  const inner = new AbortController()
  let timer: NodeJS.Timeout | undefined
  return {
    signal: outer === undefined ? inner.signal : AbortSignal.any([outer, inner.signal]),
    within(ms, message) {
      clearTimeout(timer)
      timer = setTimeout(() => inner.abort(new AppError('model-unavailable', message)), ms)
    },
    pause: () => clearTimeout(timer),
    end() {
      clearTimeout(timer)
      inner.abort()
    },
  }
}

/**
 * Requests a file and follows redirects itself: the checksum is on the redirect, a token must stay with its origin, and
 * https must never become http. Throws `model-not-found` or `model-unavailable` with the host.
 */
export async function requestFile(options: FileRequestOptions, watchdog: Watchdog): Promise<FileResponse> {
  const start = new URL(options.url)
  let url = start
  let linkedSha256: string | undefined
  for (let hops = 0; hops <= maxRedirects; hops += 1) {
    watchdog.within(options.responseTimeoutMs, `${url.host} did not answer within ${options.responseTimeoutMs / 1000} s`)
    const headers = new Headers({ ...options.headers, 'accept-encoding': 'identity', 'user-agent': 'dragoman' })
    if (options.bearerToken !== undefined && url.origin === start.origin) {
      headers.set('authorization', `Bearer ${options.bearerToken}`)
    }
    const response = await send(url, headers, watchdog.signal)
    linkedSha256 ??= /^"?([0-9a-f]{64})"?$/.exec(response.headers.get('x-linked-etag') ?? '')?.[1]
    const location = response.headers.get('location')
    if (redirectStatuses.has(response.status) && location !== null) {
      await response.body?.cancel()
      url = redirectTarget(location, url)
      continue
    }
    if (response.status === 200 || response.status === 206 || response.status === 416) {
      watchdog.pause()
      return { response, host: url.host, ...(linkedSha256 !== undefined && { linkedSha256 }) }
    }
    await response.body?.cancel()
    const code = isAbsent(response.status) ? 'model-not-found' : 'model-unavailable'
    throw new AppError(code, describeStatus(response.status, url.host, options))
  }
  throw new AppError('model-unavailable', `${start.host} redirects more than ${maxRedirects} times`)
}

async function send(url: URL, headers: Headers, signal: AbortSignal): Promise<Response> {
  try {
    return await fetch(url, { headers, signal, redirect: 'manual' })
  } catch (error) {
    if (signal.aborted) throw signal.reason
    const message = `${url.host} cannot be reached (${networkReason(error)}); check the network, or use another source`
    throw new AppError('model-unavailable', message, { cause: error })
  }
}

function redirectTarget(location: string, from: URL): URL {
  const url = URL.canParse(location, from.href) ? new URL(location, from.href) : undefined
  if (url === undefined || !isTrustedUrl(url) || (from.protocol === 'https:' && url.protocol !== 'https:')) {
    throw new AppError(
      'model-unavailable',
      `${from.host} redirects to an address that is not trusted: ${url?.origin ?? 'not a URL'}`,
    )
  }
  return url
}

/** Without a token, Hugging Face answers 401 for a repository that does not exist. */
function isAbsent(status: number): boolean {
  return status === 401 || status === 404 || status === 410
}

function describeStatus(
  status: number,
  host: string,
  { accessHint, missing = 'no such file' }: Pick<FileRequestOptions, 'accessHint' | 'missing'>,
): string {
  const hint = accessHint === undefined ? '' : `; ${accessHint}`
  switch (status) {
    case 401:
    case 403:
      return `${host} refuses access (status ${status})${hint}`
    case 404:
    case 410:
      return `${host} has ${missing} (status ${status}); check its name${hint}`
    case 429:
      return `${host} limits the rate of requests (status 429); try again later${hint}`
    default:
      return `${host} answered with status ${status}; try again later`
  }
}
