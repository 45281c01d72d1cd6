import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { roundsOf } from '../process/soak-length.ts'
import { listenOnLoopback } from './loopback.ts'

/** A request as it arrived. */
export type SeenRequest = {
  readonly method: string
  readonly path: string
  /** Its JSON; empty for anything else. */
  readonly body: Record<string, unknown>
  readonly bytes: Buffer
  readonly headers: IncomingHttpHeaders
}

export type Answer = (request: Pick<SeenRequest, 'method' | 'path' | 'body'>, response: ServerResponse) => void | Promise<void>

export type ScriptedUpstream = {
  /** With its `/v1`. */
  readonly url: string
  readonly seen: SeenRequest[]
  /** Connections whose client left before the reply had ended. */
  readonly hangUps: () => number
  /** Connections that are open now, idle ones included. */
  readonly connections: () => number
  /** Connections that there were. */
  readonly accepted: () => number
  /** What `GET` answers from now on; what it does not, is answered as usual. */
  get?: (path: string, response: ServerResponse, headers?: IncomingHttpHeaders) => boolean
  /** What `POST /v1/chat/completions` and `/v1/completions` answer from now on. */
  answer: Answer
  close(): Promise<void>
}

/** An upstream on loopback that answers as it is told, and otherwise says that it has one model. */
export async function startUpstream(
  answer: Answer,
  options: { readonly ownedBy?: string; readonly port?: number } = {},
): Promise<ScriptedUpstream> {
  const seen: SeenRequest[] = []
  let hangUps = 0
  let accepted = 0
  let open = 0
  const { origin, server, close } = await listenOnLoopback(async (request, response) => {
    const { method = '', url = '', headers } = request
    const bytes = await readBytes(request)
    const isJson = bytes.length > 0 && headers['content-type']?.startsWith('multipart/') !== true
    const seenRequest = { method, path: url, body: isJson ? JSON.parse(bytes.toString()) : {}, bytes, headers }
    response.once('close', () => {
      if (!response.writableEnded) hangUps += 1
    })
    if (request.method === 'GET') {
      if (upstream.get?.(request.url ?? '', response, headers) === true) return
      const found = request.url === '/v1/models' || request.url === '/health'
      response.writeHead(found ? 200 : 404, { 'content-type': 'application/json' })
      response.end(
        JSON.stringify({ object: 'list', data: [{ id: 'up', object: 'model', owned_by: options.ownedBy ?? 'someone' }] }),
      )
      return
    }
    seen.push(seenRequest)
    await upstream.answer(seenRequest, response)
  }, options.port)
  server.on('connection', (socket) => {
    accepted += 1
    open += 1
    socket.once('close', () => {
      open -= 1
    })
  })
  const upstream: ScriptedUpstream = {
    url: `${origin}/v1`,
    seen,
    hangUps: () => hangUps,
    connections: () => open,
    accepted: () => accepted,
    answer,
    close,
  }
  return upstream
}

async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece)
  return Buffer.concat(pieces)
}

/** Begins a stream of server-sent events. */
export function openStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
}

/** One chunk of a chat stream; `choice` is its only choice. */
export function chatChunk(choice: Record<string, unknown>, more: Record<string, unknown> = {}): string {
  const chunk = {
    id: 'chatcmpl-x',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'up',
    choices: [{ index: 0, ...choice }],
    ...more,
  }
  return `data: ${JSON.stringify(chunk)}\n\n`
}

/** The chunk that only counts. */
export function usageChunk(inputTokens: number, outputTokens: number): string {
  const usage = { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: inputTokens + outputTokens }
  return `data: ${JSON.stringify({ id: 'chatcmpl-x', object: 'chat.completion.chunk', created: 1, model: 'up', choices: [], usage })}\n\n`
}

export const doneLine = 'data: [DONE]\n\n'

/** Answers with these pieces of a stream, and ends it. */
export function streamOf(...pieces: readonly string[]): Answer {
  return (_, response) => {
    openStream(response)
    for (const piece of pieces) response.write(piece)
    response.end()
  }
}

/** The lengths at which a stream is cut: every few bytes, every one near a place and, where `SOAK_LENGTH` asks for it, every one. */
export function cutsOf(whole: Buffer, place: number): readonly number[] {
  const lengths = Array.from({ length: whole.length + 1 }, (_, length) => length)
  return lengths.filter((length) => length % roundsOf(4, 1) === 0 || Math.abs(length - place) < 4 || length === whole.length)
}
