import type { OutgoingHttpHeaders } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { AppError } from '../../../contract/errors.ts'
import { encodeLlamaServerError } from '../../../dialect/llama-server/errors.ts'
import {
  decodeControl,
  decodeLookup,
  decodeStreamQuery,
  encodeStreams,
  type StreamQuery,
} from '../../../dialect/llama-server/streams.ts'
import { callerOf } from '../../access/caller.ts'
import { takeBody, takeRequiredBody } from '../../body/take-body.ts'
import type { KeptStreams, StreamPiece } from '../../reply/kept-streams.ts'
import { disconnectStalledReader } from '../../reply/stalled-reader.ts'
import { readerDrained, whenClosed } from '../../reply/when-closed.ts'
import type { Replying } from '../../run/deps.ts'

/** How often a stream of another process is polled. */
const pollMs = 250

type StreamDeps = Pick<Replying, 'stalledReaderMs'> & { readonly streams: KeptStreams }

/** llama-server's routes by which a client finds its streams again, after a reload or a lost connection. */
export function addStreamRoutes(app: FastifyInstance, deps: StreamDeps): void {
  const { streams } = deps
  const config = { scope: 'inference', encodeError: encodeLlamaServerError } as const
  app.get<StreamQuery>('/v1/stream', { config }, async (request, reply) => {
    disconnectStalledReader(reply.raw, deps)
    const { id: owner } = callerOf(request)
    const { id, from } = decodeStreamQuery(request.query)
    const stream = streams.find(owner, id)
    if (stream !== undefined) {
      refuseLost(stream.log.start, from)
      return send(reply, (write, signal) => stream.log.follow(from, (bytes, skip) => write(bytes.subarray(skip)), signal))
    }
    const first = await streams.readElsewhere(owner, id, from)
    if (first === undefined) throw new AppError('not-found', `no stream of conversation '${id.slice(0, 100)}' is kept`)
    refuseLost(first.start, from)
    return send(reply, (write, signal) =>
      copyPieces(first, write, { signal, read: (next) => streams.readElsewhere(owner, id, next) }),
    )
  })
  app.delete<StreamQuery>('/v1/stream', { config }, async (request, reply) => {
    await streams.end(callerOf(request).id, decodeStreamQuery(request.query).id)
    return reply.code(204).send()
  })
  app.post('/v1/streams/lookup', { config }, async (request) => {
    const ids = decodeLookup(takeRequiredBody(request).body)
    return encodeStreams(ids.length === 0 ? [] : await streams.lookup(callerOf(request).id, ids))
  })
  app.post('/v1/chat/completions/control', { config }, (request) => decodeControl(takeBody(request).body))
}

function refuseLost(start: number, from: number): void {
  if (from >= start) return
  const message = `Stream offset lost, please restart: only the bytes from ${start} on are kept`
  throw new AppError('invalid-request', message, { param: 'from' })
}

type Write = (bytes: Uint8Array) => Promise<void> | undefined

/** Sends a stream until it ends or its reader has left, which does not end its generation. */
async function send(reply: FastifyReply, run: (write: Write, signal: AbortSignal) => Promise<void>): Promise<void> {
  const { raw } = reply
  const left = new AbortController()
  whenClosed(raw, () => left.abort())
  reply.hijack()
  raw.writeHead(200, {
    ...(reply.getHeaders() as OutgoingHttpHeaders),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
  })
  raw.flushHeaders()
  const write: Write = (bytes) => {
    raw.write(bytes)
    return readerDrained(raw)
  }
  try {
    await run(write, left.signal)
  } finally {
    raw.end()
  }
}

type Copying = { readonly signal: AbortSignal; read(from: number): Promise<StreamPiece | undefined> }

async function copyPieces(first: StreamPiece, write: Write, { signal, read }: Copying): Promise<void> {
  for (let piece: StreamPiece | undefined = first; piece !== undefined && !signal.aborted; ) {
    const { base64, next, isDone } = piece
    if (base64 !== '') await write(Buffer.from(base64, 'base64'))
    if (isDone) return
    if (base64 === '') await pause(pollMs, undefined, { signal }).catch(() => undefined)
    piece = await read(next)
    if (piece !== undefined && piece.start > next) return
  }
}
