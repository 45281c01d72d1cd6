import type { Readable } from 'node:stream'
import { Agent, request } from 'undici'
import { JoinedPieces } from '../base/joined-pieces.ts'
import { createGuardedConnect, ForbiddenAddress, type Guard } from './guarded-connect.ts'

export type GuardedFetchOptions = Guard & {
  /** Hosts that may be contacted, including subdomains; absent: all. */
  readonly domains?: readonly string[] | undefined
  /** Whether the caller admits a URL; absent: any. */
  admits?(url: URL): boolean
  readonly timeoutMs: number
  readonly maxBytes: number
  readonly maxRedirects: number
  /** Larger bodies are refused, or read up to the limit. */
  readonly larger: 'refuse' | 'truncate'
  readonly accept?: string
  /** Reserves memory for more bytes; throws if none is left. */
  grow(moreBytes: number): void
}

export type Fetched = {
  /** The address after redirects. */
  readonly url: string
  readonly bytes: Buffer
  readonly isTruncated: boolean
  readonly mayBeKept: boolean
  /** `content-type` as sent. */
  readonly contentType?: string
}

/** Why nothing was fetched: a message that continues a sentence about the URL. */
export class FetchProblem extends Error {
  readonly reason: 'address' | 'host' | 'size' | 'other'

  constructor(message: string, reason: FetchProblem['reason'] = 'other', cause?: unknown) {
    super(message, { cause })
    this.reason = reason
  }
}

const maxUrlLength = 8192
const maxHeaderBytes = 16 * 1024

/**
 * Fetches the bytes behind an `http:` or `https:` URL. Each hop is checked like the first. Proxies of the environment are ignored,
 * connections are not kept, and the limits apply while the bytes arrive. Rejects with a `FetchProblem`, or the signal's reason.
 */
export async function guardedFetch(url: string, signal: AbortSignal, options: GuardedFetchOptions): Promise<Fetched> {
  signal.throwIfAborted()
  const limit = new AbortController()
  const limited = AbortSignal.any([signal, limit.signal])
  const late = new FetchProblem(`did not arrive within ${options.timeoutMs / 1000} seconds`)
  const timer = setTimeout(() => limit.abort(late), options.timeoutMs)
  const connect = createGuardedConnect(options, limited)
  const agent = new Agent({
    connect,
    connections: 1,
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: 0,
    bodyTimeout: 0,
    maxRequestsPerClient: 1,
  })
  try {
    return await follow(checkUrl(url, options), { signal: limited, agent }, options)
  } catch (error) {
    signal.throwIfAborted()
    limited.throwIfAborted()
    throw explain(error)
  } finally {
    clearTimeout(timer)
    await agent.destroy()
  }
}

type Hop = { readonly signal: AbortSignal; readonly agent: Agent }

async function follow(start: URL, { signal, agent }: Hop, options: GuardedFetchOptions): Promise<Fetched> {
  let url = start
  for (let redirects = 0; redirects <= options.maxRedirects; redirects += 1) {
    const { statusCode, headers, body } = await request(url, {
      dispatcher: agent,
      signal,
      headers: { 'user-agent': 'dragoman', accept: options.accept ?? '*/*', 'accept-encoding': 'identity' },
    })
    const location = one(headers.location)
    if (isRedirect(statusCode) && location !== undefined) {
      body.on('error', () => undefined).destroy()
      url = checkUrl(location, options, url)
      continue
    }
    if (statusCode !== 200) {
      body.on('error', () => undefined).destroy()
      throw new FetchProblem(`was not sent: its server answered with status ${statusCode}`)
    }
    const encoding = one(headers['content-encoding'])
    if (encoding !== undefined && encoding !== '' && encoding !== 'identity') {
      body.on('error', () => undefined).destroy()
      throw new FetchProblem(`was sent compressed (content-encoding '${encoding.slice(0, 40)}'), which is not read`)
    }
    const collected = await collect(body, Number(one(headers['content-length']) ?? 0), options)
    const contentType = one(headers['content-type'])
    const mayBeKept = !/no-store|private/i.test(one(headers['cache-control']) ?? '')
    return { url: url.href, ...collected, mayBeKept, ...(contentType !== undefined && { contentType }) }
  }
  throw new FetchProblem(`is behind more than ${options.maxRedirects} redirects`)
}

async function collect(
  body: Readable,
  expected: number,
  { maxBytes, larger, grow }: GuardedFetchOptions,
): Promise<{ bytes: Buffer; isTruncated: boolean }> {
  const pieces = new JoinedPieces()
  const tooLarge = () => new FetchProblem('has more bytes than the limit', 'size')
  let size = 0
  try {
    if (expected > maxBytes && larger === 'refuse') throw tooLarge()
    for await (const piece of body as AsyncIterable<Buffer>) {
      if (size + piece.length > maxBytes) {
        if (larger === 'refuse') throw tooLarge()
        pieces.push(piece.subarray(0, maxBytes - size))
        body.on('error', () => undefined).destroy()
        return { bytes: pieces.end(), isTruncated: true }
      }
      size += piece.length
      grow(piece.length)
      pieces.push(piece)
    }
  } catch (error) {
    body.on('error', () => undefined).destroy()
    throw error
  }
  return { bytes: pieces.end(), isTruncated: false }
}

/** The URL of a hop. Throws for other schemes, for credentials, and for hosts that the configuration does not allow. */
export function checkUrl(text: string, { domains, admits }: Pick<GuardedFetchOptions, 'domains' | 'admits'>, base?: URL): URL {
  if (text.length > maxUrlLength) throw new FetchProblem(`is a URL of ${text.length} characters, more than ${maxUrlLength}`)
  if (!URL.canParse(text, base?.href)) throw new FetchProblem('is not a valid URL')
  const url = new URL(text, base?.href)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new FetchProblem(`has the scheme '${url.protocol}': use https: or http:`)
  }
  if (url.username !== '' || url.password !== '') {
    throw new FetchProblem('has credentials in it, which are not sent: leave them out')
  }
  const host = url.hostname.replace(/\.$/, '')
  const isAllowed = domains === undefined || domains.some((domain) => host === domain || host.endsWith(`.${domain}`))
  if (!isAllowed) throw new FetchProblem('is at a host that this server does not ask', 'host')
  if (admits?.(url) === false) throw new FetchProblem('is at a site that the request does not allow', 'host')
  return url
}

function isRedirect(status: number): boolean {
  return status === 301 || status === 302 || status === 303 || status === 307 || status === 308
}

function one(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.[0]
}

export function notPublic(cause?: unknown): FetchProblem {
  return new FetchProblem('is not at a public address', 'address', cause)
}

/** A missing name and one with a private address give the same error, so that callers cannot list internal names. */
function explain(error: unknown): unknown {
  if (error instanceof ForbiddenAddress) return notPublic(error)
  if (!(error instanceof Error) || error instanceof FetchProblem || error.name === 'AppError') return error
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  return new FetchProblem(`cannot be fetched (${code})`, 'other', error)
}
