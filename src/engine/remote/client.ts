import { Agent, type Dispatcher, request } from 'undici'
import { AppError, messageOf } from '../../core/errors.ts'
import { SseDecoder } from './sse-decoder.ts'
import { failedStatus, withFailure } from './upstream-failure.ts'

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
/** The most of a whole reply; embeddings are the largest. */
const maxReplyBytes = 256 * 1024 * 1024

/** Talks to servers. It has no time limits of its own: a long prompt is silent for minutes, and the signal ends everything. */
export class UpstreamClient {
  readonly #agent: Agent

  /** `connections` to each server at most. */
  constructor({ connections }: { readonly connections: number }) {
    this.#agent = new Agent({ connections, pipelining: 1, headersTimeout: 0, bodyTimeout: 0, connectTimeout: 5000 })
  }

  /**
   * The JSON of a stream's events, one after the other, or, from a server that does not stream, of the whole reply. Leaving the
   * iteration, or the signal, closes the connection. Throws for what is no success, and where the connection breaks; whether what came is all there was is the
   * reader's to say.
   */
  async *stream(endpoint: Endpoint, call: Call, signal: AbortSignal): AsyncGenerator<unknown, void, void> {
    const { body, headers } = await this.#send(endpoint, call, signal)
    try {
      if (!String(headers['content-type'] ?? '').includes('text/event-stream')) {
        yield parseJson(await readAll(body, maxReplyBytes))
        return
      }
      const decoder = new SseDecoder()
      for await (const bytes of body) {
        for (const { data } of decoder.push(bytes)) {
          // Some servers put more than one space in front.
          const text = data.trim()
          if (text === '[DONE]') return
          if (text !== '') yield parseJson(text)
        }
      }
    } catch (error) {
      throw asCut(error, signal)
    } finally {
      // A connection that still carries a reply is never used again.
      if (!body.readableEnded) body.destroy()
    }
  }

  /** The whole JSON reply. */
  async json(endpoint: Endpoint, call: Call, signal: AbortSignal): Promise<unknown> {
    const { body } = await this.#send(endpoint, call, signal)
    try {
      return parseJson(await readAll(body, maxReplyBytes))
    } catch (error) {
      throw asCut(error, signal)
    }
  }

  /** Resolves when a path, from the server's root, answers with success. */
  async touch(endpoint: Endpoint, path: string, signal: AbortSignal): Promise<void> {
    const { body } = await this.#send(endpoint, { method: 'GET', path, fromRoot: true }, signal)
    await body.dump()
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }

  async #send(endpoint: Endpoint, call: Call, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const base = call.fromRoot === true ? rootOf(endpoint.url) : endpoint.url
    let response: Dispatcher.ResponseData
    try {
      response = await request(base + call.path, {
        dispatcher: this.#agent,
        method: call.method,
        headers: {
          accept: 'text/event-stream, application/json',
          ...(call.body !== undefined && { 'content-type': 'application/json' }),
          ...(endpoint.apiKey !== undefined && { authorization: `Bearer ${endpoint.apiKey}` }),
        },
        ...(call.body !== undefined && { body: JSON.stringify(call.body) }),
        signal,
      })
    } catch (cause) {
      signal.throwIfAborted()
      const message = `the server at ${hostOf(endpoint.url)} cannot be reached: ${messageOf(cause)}`
      throw withFailure(new AppError('model-unavailable', message, { cause }), {
        type: 'connection',
        isRefused: isRefusal(cause),
      })
    }
    if (response.statusCode >= 200 && response.statusCode < 300) return response
    const text = await readAll(response.body, maxErrorBytes).catch(() => '')
    signal.throwIfAborted()
    throw failedStatus({
      status: response.statusCode,
      text,
      retryAfter: response.headers['retry-after'],
      host: hostOf(endpoint.url),
    })
  }
}

/** The server's root: `url` without its last `/v1`. */
export function rootOf(url: string): string {
  return url.replace(/\/v1\/?$/, '')
}

/** What a server is called in messages: never its key, nor its path. */
export function hostOf(url: string): string {
  return URL.parse(url)?.host ?? url
}

/** Whether the server is not there at all, unlike one that closed an idle connection under our request. */
function isRefusal(error: unknown): boolean {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'EHOSTUNREACH' || code === 'UND_ERR_CONNECT_TIMEOUT'
}

async function readAll(body: Dispatcher.ResponseData['body'], most: number): Promise<string> {
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of body) {
    pieces.push(piece)
    length += piece.length
    if (length > most) throw new AppError('engine-failed', `the server's reply has more than ${most} bytes`)
  }
  return Buffer.concat(pieces).toString('utf8')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    const start = text.length > 100 ? `${text.slice(0, 100)}…` : text
    throw new AppError('engine-failed', `the server behind this model sent something that is no JSON: ${start}`, { cause })
  }
}

/** A reply that broke off, unless the caller ended it. */
function asCut(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof AppError) return error
  const message = `the connection to the server behind this model broke in the middle of its answer: ${messageOf(error)}`
  return withFailure(new AppError('engine-failed', message, { cause: error }), { type: 'cut' })
}
