import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { WebSocket } from 'ws'
import { AppError } from '../../contract/errors.ts'
import type { Principal } from '../../contract/principal.ts'
import { encodeLmStudioError } from '../../dialect/lm-studio/errors.ts'
import { type ClientMessage, decodeGreeting, decodeMessage, encodeFailure } from '../../dialect/lm-studio-sdk/messages.ts'
import { type Authenticate, identify, isKeyError } from '../access/auth.ts'
import { callerOf } from '../access/caller.ts'
import type { BodyRoom } from '../body/body-room.ts'
import { shownTo } from '../reply/error-reply.ts'
import { defaultHeartbeatMs } from '../reply/event-stream.ts'
import { logFailure } from '../reply/failure-log.ts'
import { defaultStalledReaderMs } from '../reply/stalled-reader.ts'
import { readMessage, takeMessages } from '../responses/socket-messages.ts'
import { createTurns } from '../responses/socket-turns.ts'
import { SocketWriter } from '../responses/socket-writer.ts'
import type { Upgrades } from '../responses/upgrades.ts'
import { type Call, type Namespace, namespaces, type SdkDeps } from './call.ts'
import { channelOf } from './channels.ts'
import { endpointOf } from './endpoints.ts'

const goingAway = 1001
const policyViolation = 1008
/** Until a client is known, it may keep neither much memory nor a connection. */
const mostGreetingBytes = 4096
const greetingMs = 30_000

type SocketDeps = SdkDeps & {
  readonly room: BodyRoom
  readonly authenticate: Authenticate
  /** Called for each greeting without a valid key. */
  noteWrongKey(address: string): void
}

/** The WebSockets of LM Studio's SDKs. */
export class SdkSockets {
  readonly #deps: SocketDeps
  readonly #open = new Set<{ stop(): void; terminate(): void }>()

  constructor(deps: SocketDeps) {
    this.#deps = deps
  }

  /** Serves the calls of a client until it leaves; its first message has its key. */
  serve(socket: WebSocket, request: FastifyRequest, namespace: Namespace): void {
    const { room, authenticate, noteWrongKey, heartbeatMs, stalledReaderMs, now } = this.#deps
    const writer = new SocketWriter(socket, {
      heartbeatMs: heartbeatMs?.() || defaultHeartbeatMs,
      stalledReaderMs: stalledReaderMs ?? defaultStalledReaderMs,
      now,
    })
    const send = (message: object) => writer.send(JSON.stringify(message))
    let session: Session | undefined
    /** Those of a request with the greeting's key. */
    let headers: IncomingHttpHeaders = {}
    let isStopped = false
    const onIdle = () => {
      if (isStopped) writer.close(goingAway)
    }
    takeMessages(socket, async (data) => {
      try {
        if (session === undefined && data.length > mostGreetingBytes)
          throw new AppError(
            'body-too-large',
            `the first message has ${data.length} bytes: send the greeting of LM Studio's SDKs, with a key`,
          )
        const { value, share } = await readMessage(data, room)
        share.close()
        if (session !== undefined) {
          request.principal = await identify(authenticate, headers)
          session.receive(decodeMessage(value))
          return
        }
        const greeted = await this.#greet(value)
        headers = greeted.headers
        request.principal = greeted.principal
        session = new Session({ deps: this.#deps, namespace, request, send, onIdle })
        await send({ success: true })
      } catch (thrown) {
        const error = AppError.from(thrown)
        logFailure(request, error, { what: 'message on a socket failed', code: error.code })
        const { message } = shownTo(request.principal, error)
        await send(
          session === undefined ? { success: false, error: message } : { type: 'communicationWarning', warning: message },
        )
        if (session === undefined && error.code === 'unauthorized') noteWrongKey(request.ip)
        if (session === undefined || isKeyError(error)) writer.close(policyViolation)
      }
    })
    socket.on('error', (error) => request.log.info({ requestId: request.id, reason: error.message }, 'socket failed'))
    const greeting = setTimeout(() => {
      if (session === undefined) writer.close(policyViolation, 'no greeting came')
    }, greetingMs)
    const entry = {
      stop: () => {
        isStopped = true
        session?.stop()
        if (session?.isIdle !== false) onIdle()
      },
      terminate: () => socket.terminate(),
    }
    this.#open.add(entry)
    socket.once('close', () => {
      clearTimeout(greeting)
      this.#open.delete(entry)
      session?.close()
    })
  }

  /** Closes each socket as soon as nothing runs on it. */
  drain(): void {
    for (const { stop } of this.#open) stop()
  }

  close(): void {
    for (const { terminate } of this.#open) terminate()
  }

  /** Who has the first valid key of a greeting, and the headers of a request with it. */
  async #greet(message: unknown): Promise<{ readonly principal: Principal; readonly headers: IncomingHttpHeaders }> {
    let refusal: unknown
    for (const key of decodeGreeting(message)) {
      try {
        const headers = { authorization: `Bearer ${key}` }
        return { principal: await identify(this.#deps.authenticate, headers), headers }
      } catch (error) {
        refusal ??= error
      }
    }
    throw refusal
  }
}

type SessionOptions = Pick<Call, 'deps' | 'namespace' | 'request'> & {
  send(message: object): Promise<void> | undefined
  /** Called when nothing runs any more. */
  onIdle(): void
}

/** One connection: its calls run side by side. */
class Session {
  readonly #options: SessionOptions
  readonly #turns: ReturnType<typeof createTurns>
  readonly #aliases = new Map<string, string>()
  /** Ids of the calls of channels. */
  readonly #channels = new Map<number, string>()
  #running = 0
  #isStopped = false

  constructor(options: SessionOptions) {
    this.#options = options
    this.#turns = createTurns(options.deps, options.request, () => `lms-${randomUUID()}`)
  }

  get isIdle(): boolean {
    return this.#running === 0
  }

  stop(): void {
    this.#isStopped = true
  }

  close(): void {
    this.#turns.cancelAll()
  }

  receive(message: ClientMessage): void {
    const { namespace, send } = this.#options
    switch (message.type) {
      case 'rpcCall': {
        const { endpoint, callId, parameter } = message
        const fail = (error: object) => send({ type: 'rpcError', callId, error })
        void this.#run(fail, { parameter, send: () => undefined }, async (call) => {
          const serve = endpointOf(namespace, endpoint)
          if (serve === undefined) throw unknownEndpoint(namespace, endpoint)
          const result = await serve(call, parameter)
          // The SDK of JavaScript waits forever where there is null in the place of nothing.
          await send({ type: 'rpcResult', callId, ...(result !== undefined && { result }) })
        })
        return
      }
      case 'channelCreate': {
        const { endpoint, channelId, creationParameter: parameter } = message
        const fail = (error: object) => send({ type: 'channelError', channelId, error })
        const sendOn = (content: object) => send({ type: 'channelSend', channelId, message: content })
        void this.#run(fail, { parameter, send: sendOn }, async (call) => {
          const serve = channelOf(namespace, endpoint)
          if (serve === undefined) throw unknownEndpoint(namespace, endpoint)
          this.#channels.set(channelId, call.turn.caller.id)
          try {
            await serve(call, parameter)
          } finally {
            this.#channels.delete(channelId)
          }
          await send({ type: 'channelClose', channelId })
        })
        return
      }
      case 'channelSend': {
        const id = this.#channels.get(message.channelId)
        const { deps, request } = this.#options
        const { id: owner } = callerOf(request)
        if (id !== undefined && message.message.type === 'cancel')
          deps.cancellations.cancelWhere({ id, owner }, 'requested', owner)
        return
      }
      case 'keepAlive':
        void send({ type: 'keepAliveAck' })
        return
      case 'channelAck':
      case 'communicationWarning':
        return
    }
  }

  async #run(
    fail: (error: object) => Promise<void> | undefined,
    { parameter, send }: Pick<Call, 'send'> & { readonly parameter: unknown },
    work: (call: Call) => Promise<void>,
  ): Promise<void> {
    const { deps, namespace, request, onIdle } = this.#options
    const principal = callerOf(request)
    const turn = this.#turns.open(parameter)
    this.#running += 1
    try {
      if (this.#isStopped) throw new AppError('shutting-down', 'the server is shutting down; try again elsewhere or later')
      await work({ deps, namespace, principal, request, turn, aliases: this.#aliases, send })
    } catch (thrown) {
      const error = AppError.from(thrown).inWordsOf((path) => path.join('.'))
      turn.failed()
      logFailure(request, error, { what: 'call on a socket failed', code: error.code })
      await fail(encodeFailure(shownTo(principal, error)))
    } finally {
      turn.close()
      this.#running -= 1
      if (this.#running === 0) onIdle()
    }
  }
}

function unknownEndpoint(namespace: Namespace, endpoint: string): AppError {
  const message = `this server does not serve '${endpoint.slice(0, 100)}' of LM Studio's ${namespace}: of its SDKs, it serves models, predictions, tokens, embeddings, pictures and downloads by name`
  return new AppError('route-not-found', message)
}

type RouteDeps = { readonly upgrades: Upgrades; readonly sdkSockets: SdkSockets }

/** What LM Studio's SDKs look for, and connect to. */
export function addSdkRoutes(app: FastifyInstance, { upgrades, sdkSockets }: RouteDeps): void {
  app.get('/lmstudio-greeting', { config: { scope: 'public' } }, () => ({ lmstudio: true }))
  // The key is in the first message. Without an upgrade there is nothing here.
  const config = { scope: 'public', encodeError: encodeLmStudioError, isRefusal: true } as const
  for (const namespace of namespaces) {
    app.get(`/${namespace}`, { config }, async (request, reply) => {
      if (!upgrades.has(request)) {
        const message = `GET /${namespace} is for WebSockets of LM Studio's SDKs: the page is at /, and /docs lists the routes`
        throw new AppError('route-not-found', message)
      }
      upgrades.accept(request, reply, (socket) => sdkSockets.serve(socket, request, namespace))
      return reply
    })
  }
}
