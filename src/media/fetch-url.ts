import type { Readable } from 'node:stream'
import { Agent, request } from 'undici'
import { JoinedPieces } from '../base/joined-pieces.ts'
import type { AppError } from '../contract/errors.ts'
import type { MediaItem } from '../contract/media.ts'
import { createGuardedConnect, ForbiddenAddress, type Guard } from './guarded-connect.ts'
import { invalid } from './invalid.ts'
import { formatBytes } from './limits.ts'

export type FetchOptions = Guard & {
  /** Hosts that may be asked, with all below them; absent: all. */
  readonly domains?: readonly string[] | undefined
  readonly timeoutMs: number
  readonly maxBytes: number
  /** Takes memory for more bytes; throws where there is none. */
  grow(moreBytes: number): void
}

export type Fetched = { readonly bytes: Buffer; readonly mayBeKept: boolean; readonly declared?: string }

const maxRedirects = 3
const maxUrlLength = 8192
const maxHeaderBytes = 16 * 1024

/**
 * The bytes behind an `http:` or `https:` URL. Each hop is checked like the first. Nothing of the environment's proxies is used, nothing is
 * kept open, and the limits hold while the bytes arrive. Rejects with `invalid-request`, or the signal's reason.
 */
export async function fetchUrl(
  url: string,
  { item, signal }: { readonly item: MediaItem; readonly signal: AbortSignal },
  options: FetchOptions,
): Promise<Fetched> {
  signal.throwIfAborted()
  const limit = new AbortController()
  const limited = AbortSignal.any([signal, limit.signal])
  const late = invalid(item.at, `did not arrive within ${options.timeoutMs / 1000} seconds`)
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
    return await follow(checkUrl(url, item, options), { item, signal: limited, agent }, options)
  } catch (error) {
    signal.throwIfAborted()
    limited.throwIfAborted()
    throw explain(error, item)
  } finally {
    clearTimeout(timer)
    await agent.destroy()
  }
}

type Hop = { readonly item: MediaItem; readonly signal: AbortSignal; readonly agent: Agent }

async function follow(start: URL, { item, signal, agent }: Hop, options: FetchOptions): Promise<Fetched> {
  let url = start
  for (let redirects = 0; redirects <= maxRedirects; redirects += 1) {
    const { statusCode, headers, body } = await request(url, {
      dispatcher: agent,
      signal,
      headers: { 'user-agent': 'dragoman', accept: '*/*', 'accept-encoding': 'identity' },
    })
    const location = one(headers.location)
    if (isRedirect(statusCode) && location !== undefined) {
      body.on('error', () => undefined).destroy()
      url = checkUrl(location, item, options, url)
      continue
    }
    if (statusCode !== 200) {
      body.on('error', () => undefined).destroy()
      throw invalid(item.at, `was not sent: its server answered with status ${statusCode}`)
    }
    const encoding = one(headers['content-encoding'])
    if (encoding !== undefined && encoding !== '' && encoding !== 'identity') {
      body.on('error', () => undefined).destroy()
      throw invalid(item.at, `was sent compressed (content-encoding '${encoding.slice(0, 40)}'), which is not read`)
    }
    const bytes = await collect(body, { ...options, item, expected: Number(one(headers['content-length']) ?? 0) })
    const declared = one(headers['content-type'])?.split(';', 1)[0]?.trim().toLowerCase()
    const mayBeKept = !/no-store|private/i.test(one(headers['cache-control']) ?? '')
    return { bytes, mayBeKept, ...(declared !== undefined && { declared }) }
  }
  throw invalid(item.at, `is behind more than ${maxRedirects} redirects`)
}

type Collecting = Pick<FetchOptions, 'maxBytes' | 'grow'> & { readonly item: MediaItem; readonly expected: number }

async function collect(body: Readable, { item, maxBytes, grow, expected }: Collecting): Promise<Buffer> {
  const pieces = new JoinedPieces()
  let size = 0
  try {
    if (expected > maxBytes) throw tooLarge(item, maxBytes)
    for await (const piece of body as AsyncIterable<Buffer>) {
      size += piece.length
      if (size > maxBytes) throw tooLarge(item, maxBytes)
      grow(piece.length)
      pieces.push(piece)
    }
  } catch (error) {
    body.on('error', () => undefined).destroy()
    throw error
  }
  return pieces.end()
}

/** The URL of a hop. Throws for other schemes, for credentials, and for hosts that the configuration does not allow. */
export function checkUrl(text: string, { at }: MediaItem, { domains }: Pick<FetchOptions, 'domains'>, base?: URL): URL {
  if (text.length > maxUrlLength) throw invalid(at, `is a URL of ${text.length} characters, more than ${maxUrlLength}`)
  if (!URL.canParse(text, base?.href)) throw invalid(at, 'is not a valid URL')
  const url = new URL(text, base?.href)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw invalid(at, `has the scheme '${url.protocol}': use https:, http: or data:`)
  }
  if (url.username !== '' || url.password !== '') throw invalid(at, 'has credentials in it, which are not sent: leave them out')
  const host = url.hostname.replace(/\.$/, '')
  const isAllowed = domains === undefined || domains.some((domain) => host === domain || host.endsWith(`.${domain}`))
  if (!isAllowed) throw invalid(at, `is at a host that this server does not ask (media.allowedDomains)`)
  return url
}

function isRedirect(status: number): boolean {
  return status === 301 || status === 302 || status === 303 || status === 307 || status === 308
}

function one(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.[0]
}

function tooLarge({ kind, at }: MediaItem, maxBytes: number) {
  return invalid(at, `has more bytes than the limit (media.maxBytes.${kind}, ${formatBytes(maxBytes)}): send a smaller one`)
}

export function forbiddenAddress({ at }: MediaItem, cause?: unknown): AppError {
  return invalid(at, 'is not at a public address: only media on the Internet are fetched (media.allowedAddresses)', cause)
}

/** A name that does not exist and one of a private address give the same error, so that callers cannot list internal names. */
function explain(error: unknown, item: MediaItem): unknown {
  const { at } = item
  if (error instanceof ForbiddenAddress) return forbiddenAddress(item, error)
  if (!(error instanceof Error) || error.name === 'AppError') return error
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  return invalid(at, `cannot be fetched (${code})`, error)
}
