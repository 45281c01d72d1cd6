import type { AttemptEnd, AttemptStart } from '../contract/attempts.ts'
import type { ArrivedRequest, AttemptSpan, RequestSpan, SentReply, Tracing } from '../contract/tracing.ts'
import type { GenerationRecord } from '../contract/usage.ts'
import { attemptAttributes, errorOf, operationOf, requestAttributes } from './genai.ts'
import { encodeSpan } from './otlp.ts'
import { isSampled } from './sampler.ts'
import type { Sampler } from './settings.ts'
import { newContext, parseTraceparent, type SpanContext, toTraceparent } from './trace-context.ts'

export type TracingDeps = {
  readonly sampler: Sampler
  /** Milliseconds of a monotonic clock. */
  now(): number
  /** Milliseconds of the epoch. */
  epoch(): number
  /** Takes an ended span, as text of OTLP/JSON. */
  export(span: string): void
}

/** Begins a span for each sampled request. */
export function createTracing(deps: TracingDeps): Tracing {
  return {
    begin: (request) => {
      const sent = request.parent === undefined ? undefined : parseTraceparent(request.parent.traceparent)
      const context = newContext(sent)
      if (!isSampled(deps.sampler, context.traceId, sent)) return undefined
      return new ServerSpan(deps, request, { context: { ...context, isSampled: true }, parentSpanId: sent?.spanId })
    },
  }
}

type SpanIdentity = { readonly context: SpanContext; readonly parentSpanId: string | undefined }

/** The span of a request. It ends when the reply is complete and every generation for it has ended. */
class ServerSpan implements RequestSpan {
  readonly #deps: TracingDeps
  readonly #request: ArrivedRequest
  readonly #place: SpanIdentity
  readonly #startMs: number
  /** Converts the monotonic clock to the epoch, equally for the spans below. */
  readonly #epochMs: number
  readonly traceparent: string
  readonly tracestate?: string
  #model: string | undefined = undefined
  #record: GenerationRecord | undefined = undefined
  #running = 0
  #reply: SentReply | undefined = undefined
  #hasEnded = false

  constructor(deps: TracingDeps, request: ArrivedRequest, place: SpanIdentity) {
    this.#deps = deps
    this.#request = request
    this.#place = place
    this.#startMs = deps.now()
    this.#epochMs = deps.epoch() - this.#startMs
    this.traceparent = toTraceparent(place.context)
    const { tracestate } = request.parent ?? {}
    if (tracestate !== undefined) this.tracestate = tracestate
  }

  servedBy(model: string): void {
    this.#model = model
  }

  generationBegan(): void {
    this.#running += 1
  }

  generationEnded(record: GenerationRecord): void {
    this.#running -= 1
    this.#model = record.model
    this.#record = record
    this.#endIfDone()
  }

  beginAttempt(start: AttemptStart): AttemptSpan {
    const context = newContext(this.#place.context)
    const startMs = this.#deps.now()
    const { tracestate } = this
    return {
      context: { traceparent: toTraceparent(context), ...(tracestate !== undefined && { tracestate }) },
      end: (end) => this.#exportAttempt(start, end, { context, startMs }),
    }
  }

  replied(reply: SentReply): void {
    this.#reply = reply
    this.#endIfDone()
  }

  #endIfDone(): void {
    const reply = this.#reply
    if (this.#hasEnded || reply === undefined || this.#running > 0) return
    // It was accepted, and will be generated without its client.
    if (reply.goesOn && reply.status < 400 && this.#record === undefined) return
    this.#hasEnded = true
    const model = this.#model
    const record = this.#record
    const operation = this.#operation
    const { method, route } = this.#request
    const error = errorOf(reply, record)
    this.#deps.export(
      encodeSpan({
        context: this.#place.context,
        parentSpanId: this.#place.parentSpanId,
        tracestate: this.tracestate,
        name: operation === undefined ? `${method} ${route}` : `${operation} ${model ?? ''}`.trim(),
        kind: 'server',
        startMs: this.#startMs + this.#epochMs,
        endMs: this.#deps.now() + this.#epochMs,
        attributes: requestAttributes({ request: this.#request, reply, operation, model, record }),
        // A request that cannot be served is its caller's failure, and a cancelled one nobody's.
        hasFailed: error !== undefined && error !== 'cancelled' && (reply.status >= 500 || reply.status < 400),
      }),
    )
  }

  get #operation(): string | undefined {
    return operationOf(this.#request.route) ?? (this.#record === undefined && this.#running === 0 ? undefined : 'chat')
  }

  #exportAttempt(start: AttemptStart, end: AttemptEnd, { context, startMs }: { context: SpanContext; startMs: number }): void {
    const operation = this.#operation
    this.#deps.export(
      encodeSpan({
        context,
        parentSpanId: this.#place.context.spanId,
        tracestate: this.tracestate,
        name: `${operation ?? 'request'} ${start.model}`,
        kind: 'client',
        startMs: startMs + this.#epochMs,
        endMs: this.#deps.now() + this.#epochMs,
        attributes: attemptAttributes(operation, start, end),
        hasFailed: end.outcome !== 'ok' && end.outcome !== 'cancelled',
      }),
    )
  }
}
