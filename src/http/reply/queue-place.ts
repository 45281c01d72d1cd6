import type { FastifyReply, FastifyRequest } from 'fastify'
import type { OnQueued, QueuePosition } from '../../contract/scheduler.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The request's position in the queue; undefined unless it has had to wait. */
    queuePlace: (() => QueuePosition | undefined) | undefined
  }
}

/** Reports the place of a request that has to wait: in headers of any reply, and in the heartbeats of a stream. */
export function reportPlace(request: FastifyRequest, reply: FastifyReply): OnQueued {
  return (placeOf) => {
    request.queuePlace = placeOf
    const place = placeOf()
    // The header reports the first wait, for example if there is another between two prompts.
    if (place === undefined || reply.sent || reply.hasHeader(positionHeader)) return
    reply.header(positionHeader, place.position)
    if (place.estimatedWaitMs !== undefined) reply.header(waitHeader, place.estimatedWaitMs)
  }
}

const positionHeader = 'x-dragoman-queue-position'
const waitHeader = 'x-dragoman-estimated-wait-ms'

/** A comment of an event stream with a waiting request's position; clients skip comments. Empty if it is not waiting. */
export function placeComment({ queuePlace }: FastifyRequest): string {
  const place = queuePlace?.()
  if (place === undefined) return ''
  const { position, estimatedWaitMs } = place
  return `: queue-position=${position}${estimatedWaitMs === undefined ? '' : ` estimated-wait-ms=${estimatedWaitMs}`}\n`
}
