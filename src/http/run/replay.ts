import type { FastifyReply, FastifyRequest } from 'fastify'
import { openEventStream } from '../reply/event-stream.ts'
import { jsonReply } from '../reply/json-reply.ts'
import type { Recording } from '../reply/recording.ts'
import { whenClosed } from '../reply/when-closed.ts'
import type { ServerDeps } from './deps.ts'

type Reader = { readonly reply: FastifyReply; readonly signal: AbortSignal }

/** Answers a repeated request with the reply to the first, from its beginning to its end. Rejects as the first request failed. */
export async function replay(
  deps: ServerDeps,
  recording: Recording,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
): Promise<unknown> {
  recording.joined()
  const { raw } = reply
  const gone = new AbortController()
  whenClosed(raw, () => {
    recording.left(raw.writableFinished)
    gone.abort()
  })
  const { signal } = gone
  request.queuePlace = () => recording.request.queuePlace?.()
  while (recording.stream === undefined && recording.outcome === undefined && !signal.aborted) await recording.change(signal)
  request.generation = recording.request.generation
  if (recording.stream !== undefined) return streamAgain(deps, recording, { reply, signal })
  const { outcome } = recording
  if (outcome?.type === 'failed') throw outcome.error
  if (outcome?.type === 'json') {
    copyHeaders(recording, reply)
    return jsonReply(reply, outcome.value)
  }
  reply.hijack()
  return
}

async function streamAgain(deps: ServerDeps, recording: Recording, { reply, signal }: Reader): Promise<void> {
  const { frames, stream } = recording
  const writer = openEventStream(deps, reply, {
    heartbeat: stream?.heartbeat ?? '',
    addHeaders: () => {
      // From now on, a failure is an event of the stream.
      stream?.writer.start()
      stream?.addHeaders?.()
      copyHeaders(recording, reply)
    },
  })
  try {
    for (let index = 0; !signal.aborted; ) {
      const frame = frames[index]
      if (frame !== undefined) {
        index += 1
        writer.write(frame)
        await writer.waitForReader()
      } else if (recording.outcome?.type === 'failed') throw recording.outcome.error
      else if (recording.outcome !== undefined) break
      else await recording.change(signal)
    }
  } finally {
    writer.end()
  }
  reply.hijack()
}

function copyHeaders({ reply: first }: Recording, reply: FastifyReply): void {
  for (const [name, value] of Object.entries(first.getHeaders())) {
    if (value !== undefined && name !== 'content-length' && !reply.hasHeader(name)) reply.header(name, value)
  }
  reply.header('x-dragoman-replayed', 'true')
}
