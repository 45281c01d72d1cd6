import { hasPath, hostOf, rootOf, urlOf } from '../../../base/text/server-url.ts'
import { withTimeLimit } from '../../../base/time-limit.ts'
import { Connections } from './connections.ts'
import { connectionFailed, isBroken, statusFailed } from './failed-request.ts'
import { type HttpReply, type HttpRequest, httpExchange } from './http-exchange.ts'
import type { JsonBounds } from './json-reader.ts'
import { bodyText } from './raw-json.ts'
import { readWhole } from './read-reply.ts'
import { keepSecret } from './secrets.ts'
import { UpstreamError } from './upstream-error.ts'

/** One server of a model. `url` is the base of its OpenAI routes, such as `http://10.0.0.1:8000/v1`. */
export type Endpoint = {
  /** Unique among the servers of a model. */
  readonly id: string
  readonly url: string
  readonly apiKey?: string
  /** Its share of the load, relative to the others. */
  readonly weight: number
  /** Its own name for the model. Absent: the common one, or the one that it lists. */
  readonly upstreamModel?: string
  /** Used only if the others cannot be. */
  readonly isSpare?: true
  /** It is in another zone: used while those of this zone have more to do. */
  readonly isFar?: true
  /** The name in its certificate, if that is not the host of the URL. */
  readonly serverName?: string
  /** It is a router that balances over servers of its own. */
  readonly isRouter?: true
  /** The kind of source that listed it. Absent: the configuration. */
  readonly source?: 'dns' | 'file' | 'kubernetes'
}

/** The headers that hold the key, and constant headers. */
export type RequestHead = {
  readonly keyHeader: 'x-api-key' | 'both'
  readonly headers: Readonly<Record<string, string>>
}

type UpstreamRequest = {
  readonly method: 'GET' | 'POST'
  /** Relative to `url`, or, with `fromRoot`, to the server's root. */
  readonly path: string
  readonly fromRoot?: boolean
  /** Where a `url` without a path has its routes, of a server whose root has others of the same names. */
  readonly below?: string | undefined
  readonly body?: unknown
  /** A body that is not JSON, instead of `body`. */
  readonly bytes?: { readonly contentType: string; readonly content: Uint8Array }
  /** Absent: the key as a bearer token. */
  readonly head?: RequestHead | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** The bounds of the reply, if they differ from those of its kind. */
  readonly bounds?: JsonBounds
}

const maxErrorBytes = 65_536
const maxMetricsBytes = 4 * 1024 * 1024
const sideConnections = 8
/** Longer than the interval of health checks, and shorter than networks keep silent connections. */
const sideKeepAliveMs = 60_000
/** For lists of models, properties and versions. */
const sideBounds: JsonBounds = { maxLength: 8 * 1024 * 1024, maxUnits: 1024 * 1024 }
/** Embeddings are the largest replies. */
const workBounds: JsonBounds = { maxLength: 256 * 1024 * 1024, maxUnits: 12 * 1024 * 1024 }
/** Servers report their health and models without delay, and tokenize quickly. */
const sideTimeoutMs = 10_000

/**
 * Sends requests to servers. Generating has no time limit here, because a long prompt is silent for minutes; the signal ends it. Side
 * requests have a limit and separate connections: they never wait for a generation.
 */
export class UpstreamClient {
  readonly #connections: Connections
  readonly #sideConnections: Connections
  /** Cached by server and route: parsing a URL takes as long as serialising a request. */
  readonly #addresses = new WeakMap<Endpoint, Map<string, Address>>()

  #forgetSecrets: () => void = () => undefined

  /** `connections`: the most connections to one server, for generating. */
  constructor({ connections }: { readonly connections: number }) {
    const noTimeouts = { pipelining: 1, headersTimeout: 0, bodyTimeout: 0, connectTimeout: 5000 }
    this.#connections = new Connections({ ...noTimeouts, connections })
    this.#sideConnections = new Connections({ ...noTimeouts, connections: sideConnections, keepAliveTimeout: sideKeepAliveMs })
  }

  /** Replaces the servers whose secrets are masked. */
  keepSecretsOf(endpoints: readonly Endpoint[]): void {
    const forget = this.#forgetSecrets
    this.#forgetSecrets = keepSecret(endpoints.flatMap(secretsOf))
    forget()
  }

  /** Closes the connections to a removed server. Requests that still run there fail, and can be continued elsewhere. */
  async disconnect({ url }: Endpoint): Promise<void> {
    const { origin } = new URL(url)
    const error = new Error('the server has left')
    await Promise.all([this.#connections.cut(origin, error), this.#sideConnections.cut(origin, error)])
  }

  /**
   * A reply to be read as it arrives, with `readStream`. The signal closes the connection. Rejects for an error status. The reader has to
   * check that the reply is complete.
   */
  stream(endpoint: Endpoint, request: UpstreamRequest, signal: AbortSignal): Promise<HttpReply> {
    return this.#send(this.#connections, endpoint, request, { signal })
  }

  /** The JSON reply to a request that may take long. */
  async work(endpoint: Endpoint, request: UpstreamRequest, signal: AbortSignal): Promise<unknown> {
    return await this.#whole(this.#connections, endpoint, { bounds: workBounds, ...request }, signal)
  }

  /** The JSON reply to a side request, which is answered quickly. */
  async ask(endpoint: Endpoint, request: UpstreamRequest, signal: AbortSignal): Promise<unknown> {
    return await withTimeLimit(signal, sideLimit(endpoint), (limited) =>
      this.#whole(this.#sideConnections, endpoint, { bounds: sideBounds, ...request }, limited),
    )
  }

  /** A health check: resolves with any status below 500. */
  async touch(endpoint: Endpoint, request: Omit<UpstreamRequest, 'method'>, signal: AbortSignal): Promise<void> {
    const { body } = await this.#send(this.#sideConnections, endpoint, { method: 'GET', ...request }, { signal, isTouch: true })
    body.drain()
  }

  /** The lines of `/metrics` that begin with one of these names. */
  async metrics(endpoint: Endpoint, names: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
    const request = { method: 'GET', path: '/metrics', fromRoot: true } as const
    const { body } = await this.#send(this.#sideConnections, endpoint, request, { signal })
    const lines = (await body.readStart(maxMetricsBytes)).toString('utf8').split('\n')
    return lines.filter((line) => names.some((name) => line.startsWith(name)))
  }

  async close(): Promise<void> {
    await Promise.all([this.#connections.destroy(), this.#sideConnections.destroy()])
    this.#forgetSecrets()
  }

  async #whole(
    connections: Connections,
    endpoint: Endpoint,
    request: UpstreamRequest & { readonly bounds: JsonBounds },
    signal: AbortSignal,
  ): Promise<unknown> {
    const { body } = await this.#send(connections, endpoint, request, { signal })
    return await readWhole(body, request.bounds)
  }

  #addressOf(endpoint: Endpoint, { method, path, fromRoot = false, below = '', head }: UpstreamRequest): Address {
    const routes = this.#addresses.get(endpoint) ?? new Map<string, Address>()
    this.#addresses.set(endpoint, routes)
    const known = routes.get(path)
    const isSame = known?.method === method && known.fromRoot === fromRoot && known.below === below && known.head === head
    if (isSame) return known
    const { url, apiKey, serverName } = endpoint
    const base = hasPath(url) ? url : urlOf(url, below)
    const { origin, port, pathname, search } = new URL(urlOf(fromRoot ? rootOf(url) : base, path))
    const headers = {
      accept: 'text/event-stream, application/json',
      'accept-encoding': 'identity',
      // Undici also expects this name in the certificate.
      ...(serverName !== undefined && { host: port === '' ? serverName : `${serverName}:${port}` }),
      ...(method === 'POST' && { 'content-type': 'application/json' }),
      ...(apiKey !== undefined && keyHeaders(apiKey, head)),
      ...head?.headers,
    }
    const address = { method, fromRoot, below, head, origin, path: pathname + search, headers }
    routes.set(path, address)
    return address
  }

  async #send(
    connections: Connections,
    endpoint: Endpoint,
    request: UpstreamRequest,
    { signal, isTouch = false }: { readonly signal: AbortSignal; readonly isTouch?: boolean },
  ): Promise<HttpReply> {
    signal.throwIfAborted()
    const { url } = endpoint
    const { bytes } = request
    const { method, origin, path, headers: usual } = this.#addressOf(endpoint, request)
    const sent = {
      ...usual,
      ...(bytes !== undefined && { 'content-type': bytes.contentType }),
      ...request.headers,
    }
    const body = bytes?.content ?? (request.body === undefined ? null : bodyText(request.body))
    const exchange = () => httpExchange(connections.to(origin), { origin, path, method, headers: sent, body }, signal)
    let reply: HttpReply
    try {
      // It may have been an idle connection that the server closed just then, which says nothing about the server.
      const again = (cause: unknown) => (!signal.aborted && isBroken(cause) ? exchange() : Promise.reject(cause))
      reply = await (method === 'GET' ? exchange().catch(again) : exchange())
    } catch (cause) {
      signal.throwIfAborted()
      throw connectionFailed(cause, hostOf(url))
    }
    const { status, headers } = reply
    const isEncoded = !['', 'identity'].includes(String(headers['content-encoding'] ?? ''))
    if (status >= 200 && status < 300) {
      if (!isEncoded) return reply
      reply.body.leave()
      const message = `the server at ${hostOf(url)} sent a compressed reply, although it was asked not to`
      throw new UpstreamError({ type: 'truncated' }, message)
    }
    if (isTouch && status < 500) return reply
    const text = (await reply.body.readStart(maxErrorBytes)).toString('utf8')
    signal.throwIfAborted()
    throw statusFailed({
      status,
      said: isEncoded ? '' : text,
      retryAfter: headers['retry-after'],
      location: headers.location,
      host: hostOf(url),
    })
  }
}

/** A route of a server: its URL in parts, and its headers. */
type Address = Pick<HttpRequest, 'origin' | 'path' | 'method' | 'headers'> & {
  readonly fromRoot: boolean
  readonly below: string
  readonly head: RequestHead | undefined
}

function keyHeaders(apiKey: string, head: RequestHead | undefined): Readonly<Record<string, string>> {
  return {
    ...(head?.keyHeader !== 'x-api-key' && { authorization: `Bearer ${apiKey}` }),
    ...(head !== undefined && { 'x-api-key': apiKey }),
  }
}

/** The key, the password in the URL, and secrets in its query. */
function secretsOf({ url, apiKey }: Endpoint): readonly string[] {
  if (!URL.canParse(url)) return apiKey === undefined ? [] : [apiKey]
  const { password, searchParams } = new URL(url)
  const inQuery = [...searchParams]
    .filter(([name]) => /key|token|secret|sig|pass|auth|code/i.test(name))
    .map(([, value]) => value)
  return [...(apiKey === undefined ? [] : [apiKey]), password, ...inQuery]
}

function sideLimit({ url }: Endpoint) {
  const tooLate = () => {
    const message = `the server at ${hostOf(url)} did not answer within ${sideTimeoutMs} ms`
    return new UpstreamError({ type: 'connection', isRefused: false }, message)
  }
  return { timeoutMs: sideTimeoutMs, tooLate }
}
