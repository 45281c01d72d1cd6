import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { JoinedPieces } from '../../base/joined-pieces.ts'
import { AppError } from '../../contract/errors.ts'
import { JsonScanner } from '../../dialect/wire/json/json-scanner.ts'
import type { BodyRoom, BodyShare } from './body-room.ts'
import { type JsonBody, parseJsonBody, parseLargeJsonBody } from './json-body.ts'

/** Parsing a larger body takes several turns of the event loop. */
export const largeBodyBytes = 256 * 1024
/** How soon a client without room for its body may try again. */
const retryAfterMs = 1000

export type BodyReaderOptions = {
  readonly limitBytes: number
  readonly room: BodyRoom
}

type Done = (error: Error | null, body?: unknown) => void

/**
 * Reads JSON bodies. A body is counted while it arrives, and refused as soon as it exceeds a limit; its room is free again when its
 * reply is closed. An empty body is `undefined`, since clients send the content type without a body too.
 */
export function createBodyReader({ limitBytes, room }: BodyReaderOptions) {
  return (request: FastifyRequest, payload: Readable, done: Done): void => {
    const sent = request.headers['content-length']
    const expectedBytes = sent === undefined ? undefined : Number(sent)
    if (expectedBytes !== undefined && expectedBytes > limitBytes) {
      done(tooLarge(limitBytes))
      return
    }
    const scanner = new JsonScanner('the body')
    // Held until the reply is closed: the texts live on in the request decoded from the body.
    const share = room.open()
    request.bodyShare = share
    let sizeBytes = 0
    // Piece by piece: a large body in one call would stall other requests.
    let pieces = new JoinedPieces((piece) => scanner.push(piece))
    const stop = () => {
      payload.off('data', onData)
      payload.off('end', onEnd)
      payload.off('error', onError)
    }
    const fail = (error: Error) => {
      stop()
      pieces = new JoinedPieces()
      done(error)
    }
    const onData = (piece: Buffer) => {
      if (sizeBytes + piece.length > limitBytes) return fail(tooLarge(limitBytes))
      if (!share.grow(piece.length)) return fail(noRoom())
      sizeBytes += piece.length
      try {
        pieces.push(piece)
      } catch (error) {
        fail(AppError.from(error))
      }
    }
    const onError = (error: Error) => fail(Object.assign(error, { statusCode: 400 }))
    const onEnd = () => {
      stop()
      if (expectedBytes !== undefined && sizeBytes !== expectedBytes) {
        return done(
          new AppError('invalid-request', `the body has ${sizeBytes} bytes, but its content-length is ${expectedBytes}`),
        )
      }
      if (sizeBytes === 0) return done(null)
      let body: Buffer
      try {
        body = pieces.end()
      } catch (error) {
        return fail(AppError.from(error))
      }
      pieces = new JoinedPieces()
      if (sizeBytes > largeBodyBytes) {
        parseLargeJsonBody(body).then(accept, done)
        return
      }
      let parsed: JsonBody
      try {
        parsed = parseJsonBody(body)
      } catch (error) {
        return done(AppError.from(error))
      }
      accept(parsed)
    }
    const accept = ({ value, exactText }: JsonBody) => {
      request.exactBody = exactText
      done(null, value)
    }
    payload.on('data', onData)
    payload.on('end', onEnd)
    payload.on('error', onError)
    payload.resume()
  }
}

/** Wraps the callback of a route on which an unreadable body counts as none. */
export function orNoBody({ id, log }: FastifyRequest, done: Done): Done {
  return (error, body) => {
    if (error === null) return done(null, body)
    log.debug({ requestId: id, code: AppError.from(error).code }, 'the body cannot be read and counts as none')
    done(null)
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The room of the body, until the reply is closed; undefined without a body. */
    bodyShare: BodyShare | undefined
    /** As `CallInput.exactBody`. */
    exactBody: string | undefined
  }
}

export function tooLarge(limitBytes: number, setting = 'server.bodyLimitBytes'): AppError {
  return new AppError('body-too-large', `the body is larger than the limit of ${limitBytes} bytes (${setting})`)
}

export function noRoom(): AppError {
  const message = 'the bodies of the requests in flight fill the memory that they may use (server.totalBodyLimitBytes); try again'
  return new AppError('overloaded', message, { retryAfterMs })
}
