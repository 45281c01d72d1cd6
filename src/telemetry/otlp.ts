import type { SpanContext } from './trace-context.ts'

export type AttributeValue = string | number | boolean | readonly string[]
export type Attributes = Readonly<Record<string, AttributeValue | undefined>>

/** A span that has ended. */
export type EndedSpan = {
  readonly context: SpanContext
  readonly parentSpanId: string | undefined
  readonly tracestate: string | undefined
  readonly name: string
  readonly kind: 'server' | 'client'
  /** Milliseconds of the epoch. */
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Attributes
  readonly hasFailed: boolean
}

const kinds = { server: 2, client: 3 } as const
const statusError = 2

/** One span as text of OTLP/JSON. Written when the span ends, so that a batch is only joined when it is sent. */
export function encodeSpan(span: EndedSpan): string {
  const { context, parentSpanId, tracestate, name, kind, startMs, endMs, attributes, hasFailed } = span
  return JSON.stringify({
    traceId: context.traceId,
    spanId: context.spanId,
    ...(tracestate !== undefined && { traceState: tracestate }),
    ...(parentSpanId !== undefined && { parentSpanId }),
    flags: 1,
    name,
    kind: kinds[kind],
    startTimeUnixNano: nanoseconds(startMs),
    endTimeUnixNano: nanoseconds(Math.max(startMs, endMs)),
    attributes: encodeAttributes(attributes),
    ...(hasFailed && { status: { code: statusError } }),
  })
}

/** A request of the collector's route `/v1/traces`. */
export function encodeBatch(spans: readonly string[], { resource, version }: { resource: Attributes; version: string }): string {
  const attributes = JSON.stringify(encodeAttributes(resource))
  const scope = JSON.stringify({ name: 'dragoman', version })
  return `{"resourceSpans":[{"resource":{"attributes":${attributes}},"scopeSpans":[{"scope":${scope},"spans":[${spans.join(',')}]}]}]}`
}

function encodeAttributes(attributes: Attributes): readonly object[] {
  return Object.entries(attributes).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value: encodeValue(value) }]))
}

function encodeValue(value: AttributeValue): object {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  // 64-bit numbers are texts in this encoding.
  if (typeof value === 'number') return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
  return { arrayValue: { values: value.map((stringValue) => ({ stringValue })) } }
}

/** Microseconds are exact in a number, nanoseconds of the epoch are not. */
function nanoseconds(ms: number): string {
  return `${Math.round(ms * 1000)}000`
}
