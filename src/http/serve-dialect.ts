import type { OutgoingHttpHeaders } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { DecodedCall, Dialect } from '../contract/dialect.ts'
import { AppError } from '../contract/errors.ts'
import type { StartEvent } from '../contract/event.ts'
import { foldEvents } from '../contract/result.ts'
import { type Generation, generate } from '../core/generate.ts'
import type { ServerDeps } from './deps.ts'
import { shownTo } from './error-reply.ts'
import { logFailure, wireCodeOf } from './failure-log.ts'
import type { GenerationFacts } from './generation-facts.ts'
import { jsonReply } from './json-reply.ts'
import { openRun } from './open-run.ts'
import { encodeIgnored, encodeOddCalls, encodeServerTiming } from './reply-headers.ts'
import { SseWriter } from './sse.ts'
import { defaultStalledReaderMs } from './stalled-reader.ts'
import { takeBody } from './take-body.ts'

const defaultHeartbeatMs = 10_000
/** Decoding a larger body may take so long that others are served before it is run. */
const largeBytes = 256 * 1024

const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  // Keeps nginx from buffering the events.
  'x-accel-buffering': 'no',
}

/** The handler of generation requests, for all dialects and engines. */
export function createDialectHandler(deps: ServerDeps, dialect: Dialect) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    if (request.body === undefined) throw new AppError('invalid-json', 'the request has no body; send a JSON object')
    const id = dialect.createId()
    const { caller, handle, detach } = openRun(deps, request, reply, id)
    let call: DecodedCall | undefined
    try {
      const decoding = dialect.decode({ ...takeBody(request), headers: request.headers }, { id, requestId: request.id })
      call = decoding instanceof Promise ? await decoding : decoding
      if (call.policy.onHangUp === 'go-on') detach()
      if ((request.bodyShare?.sizeBytes ?? 0) > largeBytes) await nextTurn()
      const ignored = encodeIgnored(call.ignored)
      const facts: GenerationFacts = { generationId: id, requestedModel: call.requests[0].model }
      request.generation = facts
      if (ignored !== '') reply.header('x-dragoman-ignored', ignored)
      const model = deps.resolveModel(call.requests[0].model)
      handle.servedBy(model.id)
      facts.model = model.id
      const generation = noted(generate(deps, call.requests, { ...caller, model }), facts)
      if (call.stream) {
        await stream({ generation, call, request, reply })
        // Even without a byte sent: then the client has disconnected.
        reply.hijack()
        return
      }
      const result = await foldEvents(generation)
      addStartHeaders(result.start, call, reply)
      const serverTiming = encodeServerTiming(result.timings)
      if (serverTiming !== '') reply.header('server-timing', serverTiming)
      if (facts.oddCalls !== undefined) reply.header('x-dragoman-calls', encodeOddCalls(facts.oddCalls))
      return jsonReply(reply, call.encodeResult(result))
    } catch (thrown) {
      const error = call === undefined ? AppError.from(thrown) : AppError.from(thrown).inWordsOf(call.nameOf)
      if (!reply.sent) throw error
      // The error itself could not be encoded; the stream has ended.
      logFailure(request, error, { what: 'stream failed', code: wireCodeOf(dialect.encodeError(error).body, error) })
      return
    } finally {
      handle.close()
    }
  }

  /** Throws only before anything is sent; a later failure is the stream's last event. */
  async function stream({ generation, call, request, reply }: StreamArgs): Promise<void> {
    const encoder = call.createStreamEncoder()
    let start: StartEvent | undefined
    const writer = new SseWriter({
      raw: reply.raw,
      open: () => {
        if (start !== undefined) addStartHeaders(start, call, reply)
        reply.hijack()
        reply.raw.writeHead(200, Object.assign(reply.getHeaders() as OutgoingHttpHeaders, streamHeaders))
      },
      heartbeat: dialect.heartbeat,
      heartbeatMs: deps.heartbeatMs ?? defaultHeartbeatMs,
      stalledReaderMs: deps.stalledReaderMs ?? defaultStalledReaderMs,
      now: deps.now,
    })
    try {
      await generation.run((event) => {
        if (event.type === 'error') throw event.error
        if (event.type === 'start') {
          start = event
          // A failure before the next event still gets its HTTP status.
          writer.hold(encoder.encode(event))
          return undefined
        }
        writer.write(encoder.encode(event))
        return writer.waitForReader()
      })
      writer.start()
    } catch (thrown) {
      if (!writer.started) throw thrown
      const error = AppError.from(thrown).inWordsOf(call.nameOf)
      logFailure(request, error, { what: 'stream failed', code: wireCodeOf(dialect.encodeError(error).body, error) })
      writer.write(encoder.encode({ type: 'error', error: shownTo(request.principal, error) }))
    } finally {
      writer.end()
    }
  }
}

/** The same generation, whose events also tell the log. */
function noted({ run }: Generation, facts: GenerationFacts): Generation {
  return {
    run: (emit) =>
      run((event) => {
        if (event.type === 'finish') {
          facts.finishReasons ??= []
          facts.finishReasons.push(event.reason)
        } else if (event.type === 'tool-call-end' && event.state !== undefined) {
          facts.oddCalls ??= []
          facts.oddCalls.push({ id: event.id, state: event.state })
        } else if (event.type === 'usage') {
          facts.usage = event.usage
          facts.timings = event.timings
          if (event.servedBy !== undefined) facts.servedBy = event.servedBy
        }
        return emit(event)
      }),
  }
}

type StreamArgs = {
  readonly generation: Generation
  readonly call: DecodedCall
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/** Headers about the generation, if it has started when they are sent. */
function addStartHeaders({ structured, preset, ignored }: StartEvent, call: DecodedCall, reply: FastifyReply): void {
  if (ignored !== undefined) {
    // As for unknown fields, without indices.
    const names = ignored.map((path) => call.nameOf(path).replace(/\[\d+\]/g, '[]'))
    reply.header('x-dragoman-ignored', encodeIgnored([...call.ignored, ...names]))
  }
  if (structured !== undefined) reply.header('x-dragoman-structured', structured)
  if (preset !== undefined) reply.header('x-dragoman-preset', preset)
}
