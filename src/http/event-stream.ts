import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { ServerDeps } from './deps.ts'
import { SseWriter } from './sse.ts'
import { defaultStalledReaderMs } from './stalled-reader.ts'

export const defaultHeartbeatMs = 10_000

const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  // Keeps nginx from buffering the events.
  'x-accel-buffering': 'no',
}

type EventStreamOptions = {
  readonly heartbeat: string
  /** Called once, just before the headers are sent. */
  addHeaders?(): void
}

/** The writer of a reply that is a stream of server-sent events. End it. */
export function openEventStream(
  { heartbeatMs, stalledReaderMs, now }: Pick<ServerDeps, 'heartbeatMs' | 'stalledReaderMs' | 'now'>,
  reply: FastifyReply,
  { heartbeat, addHeaders }: EventStreamOptions,
): SseWriter {
  return new SseWriter({
    raw: reply.raw,
    open: () => {
      addHeaders?.()
      reply.hijack()
      reply.raw.writeHead(200, Object.assign(reply.getHeaders() as OutgoingHttpHeaders, streamHeaders))
    },
    heartbeat,
    heartbeatMs: heartbeatMs ?? defaultHeartbeatMs,
    stalledReaderMs: stalledReaderMs ?? defaultStalledReaderMs,
    now,
  })
}
