import type { FastifyReply, FastifyRequest } from 'fastify'
import type { LoadPlace, OnLoading } from '../../contract/scheduler.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The load that the request waits for; undefined unless it has had to wait for that. */
    loadPlace: (() => LoadPlace | undefined) | undefined
  }
}

/** Reports that a request has to wait for its model: in a header of any reply, and in the heartbeats of a stream. */
export function reportLoad(request: FastifyRequest, reply: FastifyReply): OnLoading {
  return (placeOf) => {
    request.loadPlace = placeOf
    const place = placeOf()
    if (place === undefined || reply.sent || reply.hasHeader(stateHeader)) return
    reply.header(stateHeader, place.state)
  }
}

const stateHeader = 'x-dragoman-model-state'

/** A comment of an event stream about what a request is waiting for; clients skip comments. Empty if it is not waiting. */
export function loadComment({ loadPlace }: FastifyRequest): string {
  const place = loadPlace?.()
  if (place === undefined) return ''
  return `: model-state=${place.state}${place.state === 'loading' ? ` progress=${place.progress.toFixed(2)}` : ''}\n`
}
