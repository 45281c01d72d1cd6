import type { FastifyRequest } from 'fastify'
import type { WebSocket } from 'ws'
import { AppError } from '../../contract/errors.ts'
import { encodeErrorEvent } from '../../dialect/openai-responses/encode/error-event.ts'
import type { SentKeys } from '../../responses/caller-keys.ts'
import type { ResponsesService } from '../../responses/service.ts'
import { ResponsesSession } from '../../responses/session.ts'
import { type Authenticate, identify, isKeyError } from '../access/auth.ts'
import type { BodyRoom } from '../body/body-room.ts'
import { shownTo } from '../reply/error-reply.ts'
import { defaultHeartbeatMs } from '../reply/event-stream.ts'
import { defaultStalledReaderMs } from '../reply/stalled-reader.ts'
import type { Replying, Watching } from '../run/deps.ts'
import { readMessage, takeMessages } from './socket-messages.ts'
import { createTurns } from './socket-turns.ts'
import { SocketWriter } from './socket-writer.ts'
import { logResponseFailure } from './stream-response.ts'

/** As with OpenAI, so that clients renew their connections. */
const maxSessionMs = 3_600_000
const goingAway = 1001
const policyViolation = 1008
/** This many messages in a row that cannot be understood end the connection. */
const mostInvalid = 5
const invalidCodes: ReadonlySet<string> = new Set(['invalid-json', 'invalid-request', 'unsupported-field', 'body-too-large'])

type SocketDeps = Watching &
  Replying & {
    readonly responses: ResponsesService
    readonly room: BodyRoom
    readonly memoryBytes: number
    readonly authenticate: Authenticate
  }

export class ResponsesSockets {
  readonly #deps: SocketDeps
  readonly #open = new Set<OpenSocket>()

  constructor(deps: SocketDeps) {
    this.#deps = deps
  }

  /** Serves the responses that a client requests, until it leaves. */
  serve(socket: WebSocket, request: FastifyRequest, sentKeys: SentKeys | undefined): void {
    const { responses: service, room, memoryBytes, authenticate, heartbeatMs, stalledReaderMs, now } = this.#deps
    const writer = new SocketWriter(socket, {
      // Pings are outside the stream, and detect clients that are gone.
      heartbeatMs: heartbeatMs?.() || defaultHeartbeatMs,
      stalledReaderMs: stalledReaderMs ?? defaultStalledReaderMs,
      now,
    })
    const turns = createTurns(this.#deps, request)
    /** Consecutive refusals, and how many of them concern the message itself. */
    let refused = 0
    let invalid = 0
    const send = (event: object, lane: string | undefined) => {
      refused = 0
      invalid = 0
      return write(event, lane)
    }
    const write = (event: object, lane: string | undefined) =>
      writer.send(JSON.stringify(lane === undefined ? event : { ...event, stream_id: lane }))
    const sendError = (error: AppError, lane: string | undefined) => {
      // One log line for all of them.
      if (refused++ === 0) logResponseFailure(request, error)
      const pending = write(encodeErrorEvent(shownTo(request.principal, error), 0), lane)
      if (invalidCodes.has(error.code) && ++invalid === mostInvalid) {
        socket.close(policyViolation, `${mostInvalid} messages in a row were not valid`)
      }
      return pending
    }
    /** Why no further response may begin. */
    let stopped: AppError | undefined
    const onIdle = () => {
      if (stopped !== undefined) writer.close(goingAway)
    }
    const session = new ResponsesSession({ service, memoryBytes, sentKeys, openTurn: turns.open, send, sendError, onIdle })
    takeMessages(socket, async (data, isBinary) => {
      try {
        if (stopped !== undefined) throw stopped
        request.principal = await identify(authenticate, request.headers)
        if (isBinary) throw new AppError('invalid-request', 'the message is binary; send JSON as text')
        const { value, share } = await readMessage(data, room)
        await session.receive({ content: value, release: () => share.close() })
      } catch (thrown) {
        const error = AppError.from(thrown)
        await sendError(error, undefined)
        if (isKeyError(error)) writer.close(policyViolation)
      }
    })
    socket.on('error', (error) => request.log.info({ requestId: request.id, reason: error.message }, 'socket failed'))
    const entry: OpenSocket = {
      stop: (reason) => {
        stopped = reason
        if (session.isIdle) writer.close(goingAway)
      },
      terminate: () => socket.terminate(),
    }
    const limit = setTimeout(() => {
      const reason = new AppError('connection-limit-reached', 'this connection has lasted 60 minutes; open another to continue')
      void sendError(reason, undefined)
      entry.stop(reason)
    }, maxSessionMs)
    this.#open.add(entry)
    socket.once('close', () => {
      clearTimeout(limit)
      this.#open.delete(entry)
      session.close()
      turns.cancelAll()
    })
  }

  /** Closes each socket as soon as nothing runs on it. */
  drain(): void {
    const reason = new AppError('shutting-down', 'the server is shutting down; try again elsewhere or later')
    for (const { stop } of this.#open) stop(reason)
  }

  close(): void {
    for (const { terminate } of this.#open) terminate()
  }
}

type OpenSocket = {
  /** Closes the socket when nothing runs on it; further responses are refused with the reason. */
  stop(reason: AppError): void
  terminate(): void
}
