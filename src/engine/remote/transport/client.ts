import { Agent } from 'undici'
import { type ExchangeOptions, exchange, type Reply, type ReplyBody } from './exchange.ts'
import { connectionFailed, statusFailed } from './failed-request.ts'
import { readWhole } from './read-reply.ts'
import { withTimeLimit } from './time-limit.ts'
import { UpstreamError } from './upstream-error.ts'
import { hostOf, rootOf, urlOf } from './upstream-url.ts'

/** One server of a model. `url` is where its OpenAI routes begin, such as `http://10.0.0.1:8000/v1`. */
export type Endpoint = {
  /** Unique among the servers of a model. */
  readonly id: string
  readonly url: string
  readonly apiKey?: string
  /** Its share of the work, beside the others'. */
  readonly weight: number
}

type Call = {
  readonly method: 'GET' | 'POST'
  /** From `url`, or, with `fromRoot`, from the server's own root. */
  readonly path: string
  readonly fromRoot?: boolean
  readonly body?: unknown
}

const maxErrorBytes = 65_536
const sideConnections = 8
/** Servers say at once how they are and what they have, and count a text in no time. */
const sideTimeoutMs = 10_000

/**
 * Talks to servers. Generating has no time limits here: a long prompt is silent for minutes, and the signal ends everything.
 * What is merely asked has one, and connections of its own, so that it never waits behind those that generate.
 */
export class UpstreamClient {
  readonly #agent: Agent
  readonly #side: Agent
  /** For each server by route: reading an address takes as long as a request's JSON. */
  readonly #addresses = new WeakMap<Endpoint, Map<string, Address>>()

  /** `connections` to each server at most, for generating. */
  constructor({ connections }: { readonly connections: number }) {
    const patient = { pipelining: 1, headersTimeout: 0, bodyTimeout: 0, connectTimeout: 5000 }
    this.#agent = new Agent({ ...patient, connections })
    this.#side = new Agent({ ...patient, connections: sideConnections })
  }

  /**
   * A reply that is read as it comes, with `readStream`. The signal closes the connection. Throws for
   * what is no success; whether what came is all there was is the reader's to say.
   */
  async stream(endpoint: Endpoint, call: Call, signal: AbortSignal): Promise<ReplyBody> {
    const { body } = await this.#send(this.#agent, endpoint, call, { signal })
    return body
  }

  /** The whole JSON reply to work that may take its time. */
  async work(endpoint: Endpoint, call: Call, signal: AbortSignal): Promise<unknown> {
    return await this.#whole(this.#agent, endpoint, call, signal)
  }

  /** The whole JSON reply to a question that is answered at once. */
  async ask(endpoint: Endpoint, call: Call, signal: AbortSignal): Promise<unknown> {
    return await withTimeLimit(signal, silence(endpoint), (limited) => this.#whole(this.#side, endpoint, call, limited))
  }

  /** Resolves when the server answers, and does not say that it is not ready: that there is a server, not what it has. */
  async touch(endpoint: Endpoint, call: Omit<Call, 'method'>, signal: AbortSignal): Promise<void> {
    const { body } = await this.#send(this.#side, endpoint, { method: 'GET', ...call }, { signal, isTouch: true })
    body.drain()
  }

  async close(): Promise<void> {
    await Promise.all([this.#agent.destroy(), this.#side.destroy()])
  }

  async #whole(agent: Agent, endpoint: Endpoint, call: Call, signal: AbortSignal): Promise<unknown> {
    const { body } = await this.#send(agent, endpoint, call, { signal })
    return await readWhole(body)
  }

  #addressOf(endpoint: Endpoint, { method, path, fromRoot = false }: Call): Address {
    const routes = this.#addresses.get(endpoint) ?? new Map<string, Address>()
    this.#addresses.set(endpoint, routes)
    const known = routes.get(path)
    if (known?.method === method && known.fromRoot === fromRoot) return known
    const { url, apiKey } = endpoint
    const { origin, pathname, search } = new URL(urlOf(fromRoot ? rootOf(url) : url, path))
    const headers = {
      accept: 'text/event-stream, application/json',
      'accept-encoding': 'identity',
      ...(method === 'POST' && { 'content-type': 'application/json' }),
      ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
    }
    const address = { method, fromRoot, origin, path: pathname + search, headers }
    routes.set(path, address)
    return address
  }

  async #send(
    agent: Agent,
    endpoint: Endpoint,
    call: Call,
    { signal, isTouch = false }: { readonly signal: AbortSignal; readonly isTouch?: boolean },
  ): Promise<Reply> {
    // What is asked for again after a hang-up is not sent at all.
    signal.throwIfAborted()
    const { url, apiKey } = endpoint
    const { method, origin, path, headers: sent } = this.#addressOf(endpoint, call)
    let reply: Reply
    try {
      const body = call.body === undefined ? null : JSON.stringify(call.body)
      reply = await exchange(agent, { origin, path, method, headers: sent, body }, signal)
    } catch (cause) {
      signal.throwIfAborted()
      throw connectionFailed(cause, hostOf(url))
    }
    const { status, headers } = reply
    const isEncoded = !['', 'identity'].includes(String(headers['content-encoding'] ?? ''))
    if (status >= 200 && status < 300) {
      if (!isEncoded) return reply
      reply.body.leave()
      const message = `the server at ${hostOf(url)} sent a compressed reply, which it was asked not to do`
      throw new UpstreamError({ type: 'truncated' }, message)
    }
    if (isTouch && status < 500) return reply
    const text = (await reply.body.readStart(maxErrorBytes)).toString('utf8')
    signal.throwIfAborted()
    throw statusFailed({
      status,
      // Some servers quote the key that they refuse.
      text: isEncoded ? '' : apiKey === undefined ? text : text.replaceAll(apiKey, '…'),
      retryAfter: headers['retry-after'],
      location: headers.location,
      host: hostOf(url),
    })
  }
}

/** Scheme, host and port; path and query; what is sent with every request there. */
type Address = Pick<ExchangeOptions, 'origin' | 'path' | 'method' | 'headers'> & { readonly fromRoot: boolean }

function silence({ url }: Endpoint) {
  const tooLate = () => {
    const message = `the server at ${hostOf(url)} did not answer within ${sideTimeoutMs} ms`
    return new UpstreamError({ type: 'connection', isRefused: false }, message)
  }
  return { timeoutMs: sideTimeoutMs, tooLate }
}
