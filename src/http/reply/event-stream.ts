import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'
import { loadComment } from './load-place.ts'
import { placeComment } from './queue-place.ts'
import { addLimitHeaders, type LimitReader } from './reply-headers.ts'
import { SseWriter } from './sse.ts'
import { defaultStalledReaderMs } from './stalled-reader.ts'

export const defaultHeartbeatMs = 10_000

const contentTypes = { events: 'text/event-stream; charset=utf-8', lines: 'application/x-ndjson' }
const streamHeaders = {
  'cache-control': 'no-cache',
  // Keeps nginx from buffering the events.
  'x-accel-buffering': 'no',
}

type StreamDeps = LimitReader & {
  heartbeatMs?(): number
  readonly stalledReaderMs?: number
  readonly streaming?: boolean
  readonly now: () => number
}

type EventStreamOptions = {
  /** Empty: no heartbeats, nor any other comments. */
  readonly heartbeat: string
  readonly framing?: keyof typeof contentTypes
  /** It is a generation, which may have to be sent in one piece; call `start` when it is complete. */
  readonly isGeneration?: true
  /** Takes all text as it is sent, also after the client has left. */
  keep?(text: string): void
  /** Called once, just before the headers are sent. */
  addHeaders?(): void
}

/** The writer of a streamed reply. End it. */
export function openEventStream(
  deps: StreamDeps,
  reply: FastifyReply,
  { heartbeat: sent, framing = 'events', isGeneration, addHeaders, keep }: EventStreamOptions,
): SseWriter {
  const { heartbeatMs, stalledReaderMs, now, streaming = true } = deps
  const isWhole = isGeneration === true && !streaming
  const heartbeat = isWhole ? '' : sent
  return new SseWriter({
    raw: reply.raw,
    open: () => {
      addHeaders?.()
      addLimitHeaders(deps, reply.request, reply)
      reply.hijack()
      reply.raw.writeHead(
        200,
        Object.assign(reply.getHeaders() as OutgoingHttpHeaders, streamHeaders, { 'content-type': contentTypes[framing] }),
      )
    },
    isInLines: framing === 'lines',
    ...(keep !== undefined && { keep }),
    isWhole,
    heartbeat: () => (heartbeat === '' ? '' : loadComment(reply.request) + placeComment(reply.request) + heartbeat),
    heartbeatMs: (heartbeatMs?.() ?? defaultHeartbeatMs) || Number.POSITIVE_INFINITY,
    stalledReaderMs: stalledReaderMs ?? defaultStalledReaderMs,
    now,
  })
}
