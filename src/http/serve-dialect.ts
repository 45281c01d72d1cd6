import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { DecodedCall, Dialect } from '../contract/dialect.ts'
import { AppError } from '../contract/errors.ts'
import type { Timings, Usage } from '../contract/event.ts'
import { foldEvents } from '../contract/result.ts'
import type { Generation } from '../core/generate.ts'
import { generateAll } from '../core/generate-all.ts'
import type { ServerDeps } from './deps.ts'
import { logFailure } from './error-reply.ts'
import { encodeIgnored, encodeServerTiming } from './reply-headers.ts'
import { SseWriter } from './sse.ts'
import { defaultStalledReaderMs } from './stalled-reader.ts'

type Measured = { readonly usage: Usage; readonly timings: Timings }

const defaultHeartbeatMs = 10_000

const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  // nginx would hold the events back otherwise.
  'x-accel-buffering': 'no',
}

/** The one handler of generation requests, for every dialect and every engine. */
export function createDialectHandler(deps: ServerDeps, dialect: Dialect) {
  const { cancellations, metrics, now } = deps

  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const startedMs = now()
    if (request.body === undefined) throw new AppError('invalid-json', 'the request has no body; send a JSON object')
    const id = dialect.createId()
    const call = dialect.decode(request.body, id)
    const ignored = encodeIgnored(call.ignored)
    request.generation = { generationId: id }
    if (ignored !== '') reply.header('x-dragoman-ignored', ignored)
    const preset = deps.presets.inUse
    if (preset !== undefined) reply.header('x-dragoman-preset', preset.name ?? 'unnamed')

    const { raw } = reply
    const signal = cancellations.open(id, request.raw.socket)
    const onClose = () => {
      if (!raw.writableFinished && cancellations.cancel(id, 'client-gone')) metrics.requestsCancelled('client-gone')
    }
    raw.once('close', onClose)
    if (raw.destroyed) onClose()

    let model: string | undefined
    let outcome: Measured | AppError | undefined
    try {
      const generation = generateAll(deps, call.requests, signal)
      model = generation.model
      request.generation = { generationId: id, model }
      if (call.stream) {
        outcome = await stream({ generation, call, request, reply })
        // Also when the client left before the first byte: there is nobody to answer.
        reply.hijack()
        return
      }
      const result = await foldEvents(generation)
      outcome = result
      tellStructured(generation, reply)
      const serverTiming = encodeServerTiming(result.timings)
      if (serverTiming !== '') reply.header('server-timing', serverTiming)
      return call.encodeResult(result, model)
    } catch (error) {
      outcome = AppError.from(error)
      if (!reply.sent) throw error
      // Not even the error could be encoded; the stream has been ended.
      request.log.error({ requestId: request.id, err: error }, 'stream failed')
      return
    } finally {
      cancellations.close(id)
      if (model !== undefined && outcome !== undefined) {
        const durationMs = now() - startedMs
        if (outcome instanceof AppError) metrics.generationEnded({ model, outcome: outcome.code, durationMs })
        else metrics.generationEnded({ model, outcome: 'ok', durationMs, usage: outcome.usage, timings: outcome.timings })
      }
    }
  }

  /** Throws only while nothing has been sent; a later failure is the stream's last event, and is returned. */
  async function stream({ generation, call, request, reply }: StreamArgs): Promise<Measured | AppError | undefined> {
    const encoder = call.createStreamEncoder(generation.model)
    const writer = new SseWriter({
      raw: reply.raw,
      open: () => {
        tellStructured(generation, reply)
        reply.hijack()
        reply.raw.writeHead(200, Object.assign(reply.getHeaders() as OutgoingHttpHeaders, streamHeaders))
      },
      heartbeat: dialect.heartbeat,
      heartbeatMs: deps.heartbeatMs ?? defaultHeartbeatMs,
      stalledReaderMs: deps.stalledReaderMs ?? defaultStalledReaderMs,
      now,
    })
    let outcome: Measured | undefined
    try {
      await generation.run((event) => {
        if (event.type === 'error') throw event.error
        if (event.type === 'usage') outcome = event
        writer.write(encoder.encode(event))
        return writer.waitForReader()
      })
      writer.start()
      return outcome
    } catch (thrown) {
      if (!writer.started) throw thrown
      const error = AppError.from(thrown)
      logFailure(request, error, 'stream failed')
      writer.write(encoder.encode({ type: 'error', error }))
      return error
    } finally {
      writer.end()
    }
  }
}

type StreamArgs = {
  readonly generation: Generation
  readonly call: DecodedCall
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/** Says how the output constraint is kept, as far as that is known when the headers leave. */
function tellStructured(generation: Generation, reply: FastifyReply): void {
  const structured = generation.structured()
  if (structured !== undefined) reply.header('x-dragoman-structured', structured)
}
