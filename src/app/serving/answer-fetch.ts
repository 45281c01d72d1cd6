import type { IncomingMessage, OutgoingHttpHeader, ServerResponse } from 'node:http'
import { unlessLong } from '../../base/turn.ts'
import { pathBelow, replyElsewhere } from '../../http/base-path.ts'
import type { Sender } from '../../http/check-requests.ts'
import type { Server } from '../../http/server.ts'
import { MemoryRequest, type MemoryRequestParts, MemoryResponse, type ReplySink } from './memory-exchange.ts'

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
  const { method, signal } = request
  const body = Buffer.from(await request.arrayBuffer())
  const headers = { host, ...Object.fromEntries(request.headers) }
  const reply = await openReply(server, { method, url: path + search, headers, body, signal })
  const sent = new Headers()
  for (const [name, value] of Object.entries(reply.headers)) {
    for (const one of Array.isArray(value) ? value : [value]) sent.append(name, String(one))
  }
  const { statusCode: status } = reply
  const hasBody = status !== 204 && status !== 304 && method !== 'HEAD'
  return new Response(hasBody ? reply.body : null, { status, headers: sent })
}

type Given = MemoryRequestParts & { readonly signal: AbortSignal; readonly sender?: Sender }

export type WholeReply = {
  readonly status: number
  readonly headers: { readonly [name: string]: OutgoingHttpHeader | undefined }
  readonly body: string
}

/** Answers a request without a socket. Rejects when its signal is aborted before the whole reply has come. */
export async function answerWhole(server: Server, given: Given): Promise<WholeReply> {
  // Nothing is read from a socket, which would let others have their turns.
  await unlessLong()
  const pieces: (string | Buffer)[] = []
  return new Promise((resolve, reject) => {
    const write = (piece: string | Buffer) => void pieces.push(piece)
    const end = ({ statusCode: status, headers }: MemoryResponse) => resolve({ status, headers, body: joinText(pieces) })
    answerInMemory(server, given, { write, end, cut: reject }).catch(reject)
  })
}

function joinText(pieces: readonly (string | Buffer)[]): string {
  const [first = ''] = pieces
  if (pieces.length <= 1 && typeof first === 'string') return first
  return Buffer.concat(pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece))).toString()
}

type OpenReply = Pick<MemoryResponse, 'statusCode' | 'headers'> & { readonly body: ReadableStream<Uint8Array> }

/** The reply once its headers are complete; a writer learns about a slow reader as with a socket. */
function openReply(server: Server, given: Given): Promise<OpenReply> {
  return new Promise((resolve, reject) => {
    let opened: { readonly response: MemoryResponse; readonly body: ReadableStreamDefaultController<Uint8Array> } | undefined
    const sink: ReplySink = {
      head: (response) => {
        const body = new ReadableStream<Uint8Array>(
          {
            start: (controller) => {
              opened = { response, body: controller }
            },
            pull: () => void response.emit('drain'),
            cancel: () => void response.destroy(),
          },
          { highWaterMark: mostWaitingBytes, size: ({ byteLength }) => byteLength },
        )
        resolve({ statusCode: response.statusCode, headers: response.headers, body })
      },
      write: (piece) => opened?.body.enqueue(typeof piece === 'string' ? Buffer.from(piece) : piece),
      end: () => opened?.body.close(),
      cut: (error) => {
        if (opened === undefined) reject(error)
        else opened.body.error(error)
      },
      get isFull() {
        return (opened?.body.desiredSize ?? 1) <= 0
      },
    }
    answerInMemory(server, given, sink).catch(reject)
  })
}

/** Fastify takes a moment for each question whether it is ready. */
const booted = new WeakSet<Server['app']>()

/** Rejects when its signal is aborted before. */
async function answerInMemory({ app, answer }: Server, { signal, sender, ...parts }: Given, sink: ReplySink): Promise<void> {
  if (!booted.has(app)) {
    await app.ready()
    booted.add(app)
  }
  signal.throwIfAborted()
  const request = new MemoryRequest(parts)
  const response = new MemoryResponse(request, sink)
  const leave = () => void response.destroy()
  signal.addEventListener('abort', leave, { once: true })
  response.once('close', () => {
    signal.removeEventListener('abort', leave)
    if (!response.writableEnded) sink.cut(signal.aborted ? signal.reason : new Error('the reply was broken off'))
  })
  answer(request as unknown as IncomingMessage, response as unknown as ServerResponse, sender)
}
