import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import inject, { type InjectOptions } from 'light-my-request'
import { pathBelow, replyElsewhere } from '../../http/base-path.ts'
import type { Sender } from '../../http/check-requests.ts'
import type { Server } from '../../http/server.ts'

/** An unread reply pauses at this size; the generation then waits for its reader. */
const mostWaitingBytes = 256 * 1024

/**
 * Answers a request without a socket, whose path is below `basePath` (`''`: any). Aborting the request's signal, or cancelling the body,
 * counts as a disconnect.
 */
export async function answerFetch(server: Server, request: Request, basePath: string): Promise<Response> {
  const { pathname, search, host } = new URL(request.url)
  const path = pathBelow(basePath, pathname)
  if (path === undefined) return replyElsewhere(basePath, { method: request.method, path: pathname })
  const payload = Buffer.from(await request.arrayBuffer())
  const { method, signal } = request
  const given = { method, url: path + search, headers: { host, ...Object.fromEntries(request.headers) }, payload, signal }
  const reply = await answerInjected(server, { ...given, isStreamed: true })
  const headers = new Headers()
  for (const [name, value] of Object.entries(reply.headers)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) headers.append(name, String(one))
  }
  const status = reply.statusCode
  const hasBody = status !== 204 && status !== 304 && request.method !== 'HEAD'
  return new Response(hasBody ? readBody(reply.stream(), reply.raw.res as ServerResponse) : null, { status, headers })
}

type Injected = {
  readonly method: string
  /** Its path and its query. */
  readonly url: string
  readonly headers: { readonly [name: string]: string }
  readonly payload: string | Buffer
  readonly signal: AbortSignal
  /** Whether the reply comes with its headers, before its body. */
  readonly isStreamed?: boolean
  readonly sender?: Sender
}

/** Answers a request without a socket. Rejects when its signal is aborted before the reply has come. */
export async function answerInjected({ app, answer }: Server, { signal, sender, isStreamed = false, ...given }: Injected) {
  signal.throwIfAborted()
  await app.ready()
  let raw: ServerResponse | undefined
  const leave = () => raw?.destroy()
  signal.addEventListener('abort', leave, { once: true })
  return inject(
    (incoming, response) => {
      raw = response
      // What is written here is read: there is no socket that a reader could have closed before.
      Object.defineProperty(response, 'writableFinished', { get: () => response.writableEnded })
      answer(incoming, response, sender)
    },
    {
      method: given.method as NonNullable<InjectOptions['method']>,
      url: given.url,
      headers: given.headers,
      ...(given.payload.length > 0 && { payload: given.payload }),
      payloadAsStream: isStreamed,
    },
  ).catch((error: unknown) => {
    signal.throwIfAborted()
    throw error
  })
}

/** The body while it is written; a writer learns about a slow reader as with a socket. */
function readBody(stream: Readable, raw: ServerResponse): ReadableStream<Uint8Array> {
  Object.defineProperty(raw, 'writableNeedDrain', { get: () => stream.readableLength > mostWaitingBytes })
  const chunks = stream[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value, done } = await chunks.next()
        if (done === true) controller.close()
        else controller.enqueue(value)
        raw.emit('drain')
      },
      cancel: () => void raw.destroy(),
    },
    { highWaterMark: 0 },
  )
}
