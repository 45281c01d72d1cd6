import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Emit } from '../../base/emit.ts'
import { AppError } from '../../contract/errors.ts'
import type { GenerationEvent, StartEvent } from '../../contract/event.ts'
import { encodeOpenaiError } from '../../dialect/openai/errors.ts'
import { type ResponseEvent, toSse } from '../../dialect/openai-responses/encode/encoder.ts'
import { encodeErrorEvent } from '../../dialect/openai-responses/encode/error-event.ts'
import type { ResponseRun, RunListener } from '../../responses/response-run.ts'
import { shownTo } from '../reply/error-reply.ts'
import { openEventStream } from '../reply/event-stream.ts'
import type { Exchange } from '../reply/exchange.ts'
import { logFailure, wireCodeOf } from '../reply/failure-log.ts'
import { type GenerationFacts, noteEvent } from '../reply/generation-facts.ts'
import { addStartHeaders, encodeFields } from '../reply/reply-headers.ts'
import type { SseWriter } from '../reply/sse.ts'
import type { Replying, Watching } from '../run/deps.ts'

/** A comment; clients skip it. */
const heartbeat = ': \n\n'

type StreamOptions = Exchange & {
  readonly facts: GenerationFacts
  /** The frames of another protocol for an event, as the caller may see it, once it is stored; absent: those of Responses. */
  encode?(event: GenerationEvent): string
  /** Called with the writer before the run begins. */
  onOpen?(writer: SseWriter): void
}

/** Runs a response and streams its events. Rejects only before anything is sent; a later failure is the stream's last event. */
export async function streamRun(
  deps: Watching & Replying,
  run: ResponseRun,
  { request, reply, facts, encode, onOpen }: StreamOptions,
): Promise<void> {
  let start: StartEvent | undefined
  let last: GenerationEvent | undefined
  let isHeld = false
  const writer = openEventStream(deps, reply, {
    heartbeat,
    isGeneration: true,
    addHeaders: () => addResponseHeaders(run, start, reply),
  })
  const listener: RunListener = {
    observe: (event) => {
      noteResponseEvent(facts, event, request)
      if (event.type === 'start') start = event
      last = event
      isHeld = event.type === 'start'
    },
    emit: (events) => {
      const text = encode === undefined || last === undefined ? events.map(toSse).join('') : encode(last)
      if (isHeld) {
        // A failure before the next event still gets its HTTP status.
        writer.hold(text)
        return undefined
      }
      writer.write(text)
      return writer.waitForReader()
    },
  }
  onOpen?.(writer)
  try {
    await run.run(listener)
    writer.start()
  } catch (thrown) {
    if (!writer.started) throw thrown
    // A heartbeat has already been sent.
    await run.fail(thrown, listener)
  } finally {
    writer.end()
  }
}

/** Streams events from elsewhere, until they end or the reader leaves. Rejects only before anything is sent. */
export async function streamFollowed(
  deps: Watching & Replying,
  { request, reply }: Exchange,
  follow: (emit: Emit<ResponseEvent>, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort())
  const writer = openEventStream(deps, reply, { heartbeat, isGeneration: true })
  let last = -1
  try {
    await follow((event) => {
      last = event.sequence_number
      writer.write(toSse(event))
      return writer.waitForReader()
    }, gone.signal)
    writer.start()
  } catch (thrown) {
    if (!writer.started) throw thrown
    const error = AppError.from(thrown)
    logResponseFailure(request, error)
    writer.write(toSse(encodeErrorEvent(shownTo(request.principal, error), last + 1)))
  } finally {
    writer.end()
  }
}

/** Adds the headers about a started generation, and about what it does not see. */
export function addResponseHeaders({ parts, dropped }: ResponseRun, start: StartEvent | undefined, reply: FastifyReply): void {
  if (start !== undefined) addStartHeaders(start, parts.decoded, reply)
  if (dropped.length > 0) reply.header('x-dragoman-dropped', encodeFields(dropped))
}

type Unseen = {
  readonly parts: { readonly decoded: { readonly ignored: readonly string[] } }
  readonly dropped: readonly string[]
}

/** The contents of those headers, for the log of responses without headers. */
export function unseenFields({ parts, dropped }: Unseen): { readonly ignored?: string; readonly dropped?: string } {
  const { ignored } = parts.decoded
  return {
    ...(ignored.length > 0 && { ignored: encodeFields(ignored) }),
    ...(dropped.length > 0 && { dropped: encodeFields(dropped) }),
  }
}

/** Notes what an event says, and logs a failure. */
export function noteResponseEvent(facts: GenerationFacts, event: GenerationEvent, request: FastifyRequest): void {
  noteEvent(facts, event)
  if (event.type === 'error') logResponseFailure(request, event.error)
}

export function logResponseFailure(request: FastifyRequest, error: AppError): void {
  logFailure(request, error, { what: 'response failed', code: wireCodeOf(encodeOpenaiError(error).body, error) })
}
