import type { AttemptEnd, AttemptStart } from '../contract/attempts.ts'
import type {
  ArrivedRequest,
  AttemptSpan,
  BegunGeneration,
  RequestSpan,
  SentReply,
  ToolSpan,
  Tracing,
} from '../contract/tracing.ts'
import type { GenerationRecord } from '../contract/usage.ts'
import { attemptAttributes, errorOf, operationOf, requestAttributes, toolAttributes } from './genai.ts'
import { withOpenInference } from './open-inference.ts'
import { type EndedSpan, encodeSpan } from './otlp.ts'
import { isSampled } from './sampler.ts'
import type { Sampler } from './settings.ts'
import { newContext, parseTraceparent, type SpanContext, toTraceparent } from './trace-context.ts'

type TracingDeps = {
  readonly sampler: Sampler
  /** Milliseconds of a monotonic clock. */
  now(): number
  /** Milliseconds of the epoch. */
  epoch(): number
  /** Takes an ended span, as text of OTLP/JSON. */
  export(span: string): void
}

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
  #begun: (BegunGeneration & { readonly atMs: number }) | undefined = undefined
  #running = 0
  #hasQueued = false
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

  generationBegan(generation: BegunGeneration): void {
    this.#running += 1
    this.#begun ??= { ...generation, atMs: this.#deps.now() }
  }

  generationEnded(record: GenerationRecord): void {
    this.#running -= 1
    this.#model = record.model
    this.#record = record
    this.#exportQueue(record)
    this.#endIfDone()
  }

  beginTool(call: { readonly name: string; readonly id: string }): ToolSpan {
    const startMs = this.#deps.now()
    return {
      end: (error) =>
        this.#exportBelow({
          name: `execute_tool ${call.name}`,
          kind: 'internal',
          startMs,
          endMs: this.#deps.now(),
          attributes: withOpenInference(toolAttributes(call, error)),
          hasFailed: error !== undefined && error !== 'cancelled',
        }),
    }
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
        attributes: withOpenInference(
          requestAttributes({ request: this.#request, reply, operation, model, record, begun: this.#begun }),
        ),
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
    this.#exportBelow({
      context,
      name: `${operation ?? 'request'} ${start.model}`,
      kind: 'client',
      startMs,
      endMs: this.#deps.now(),
      attributes: attemptAttributes(operation, start, end),
      hasFailed: end.outcome !== 'ok' && end.outcome !== 'cancelled',
    })
  }

  /** The first generation of a request waits; those after calls of tools seldom do. */
  #exportQueue({ model, timings }: GenerationRecord): void {
    const { atMs: startMs = 0 } = this.#begun ?? {}
    const waitedMs = timings?.queueMs ?? 0
    if (waitedMs < 1 || this.#hasQueued) return
    this.#hasQueued = true
    const span = { name: `queue ${model}`, kind: 'internal', attributes: {}, hasFailed: false } as const
    this.#exportBelow({ ...span, startMs, endMs: startMs + waitedMs })
  }

  /** Its times are of the monotonic clock. */
  #exportBelow(span: Omit<EndedSpan, 'context' | 'parentSpanId' | 'tracestate'> & { readonly context?: SpanContext }): void {
    const { context } = this.#place
    const { tracestate } = this
    const { startMs, endMs } = span
    const times = { startMs: startMs + this.#epochMs, endMs: endMs + this.#epochMs }
    this.#deps.export(encodeSpan({ context: newContext(context), parentSpanId: context.spanId, tracestate, ...span, ...times }))
  }
}
