import type { SpanContext } from './trace-context.ts'

/** A number that OpenTelemetry's conventions call a double: its type must not change with its value. */
export type Double = { readonly double: number }
export type AttributeValue = string | number | boolean | Double | readonly string[]
export type Attributes = Readonly<Record<string, AttributeValue | undefined>>

export type EndedSpan = {
  readonly context: SpanContext
  readonly parentSpanId: string | undefined
  readonly tracestate: string | undefined
  readonly name: string
  readonly kind: keyof typeof kinds
  /** Milliseconds of the epoch. */
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Attributes
  readonly hasFailed: boolean
}

const kinds = { internal: 1, server: 2, client: 3 } as const
/** The version of the conventions that names and attributes follow. */
const schemaUrl = 'https://opentelemetry.io/schemas/1.37.0'
const statusError = 2

/**
 * One span as text of OTLP/JSON. Written when the span ends, so that batches are only joined when sent; and piece by piece, which takes a
 * sixth of the time of objects and `JSON.stringify` (measured).
 */
export function encodeSpan(span: EndedSpan): string {
  const { context, parentSpanId, tracestate, name, kind, startMs, endMs, attributes, hasFailed } = span
  const parent = parentSpanId === undefined ? '' : `"parentSpanId":"${parentSpanId}",`
  const state = tracestate === undefined ? '' : `"traceState":${JSON.stringify(tracestate)},`
  const times = `"startTimeUnixNano":"${nanoseconds(startMs)}","endTimeUnixNano":"${nanoseconds(Math.max(startMs, endMs))}"`
  const status = hasFailed ? `,"status":{"code":${statusError}}` : ''
  return (
    `{"traceId":"${context.traceId}","spanId":"${context.spanId}",${state}${parent}"flags":1,"name":${JSON.stringify(name)},` +
    `"kind":${kinds[kind]},${times},"attributes":${encodeAttributes(attributes)}${status}}`
  )
}

/** The body of a request to the collector's route `/v1/traces`. */
export function encodeBatch(spans: readonly string[], { resource, version }: { resource: Attributes; version: string }): string {
  // The operator chooses these names.
  const escaped = Object.entries(resource).map(([name, value]) => [JSON.stringify(name).slice(1, -1), value])
  const attributes = encodeAttributes(Object.fromEntries(escaped))
  const scope = JSON.stringify({ name: 'dragoman', version })
  return `{"resourceSpans":[{"resource":{"attributes":${attributes}},"schemaUrl":"${schemaUrl}","scopeSpans":[{"scope":${scope},"schemaUrl":"${schemaUrl}","spans":[${spans.join(',')}]}]}]}`
}

function encodeAttributes(attributes: Attributes): string {
  let text = ''
  for (const key in attributes) {
    const value = attributes[key]
    if (value !== undefined) text += `${text === '' ? '' : ','}{"key":"${key}","value":${encodeValue(value)}}`
  }
  return `[${text}]`
}

function encodeValue(value: AttributeValue): string {
  if (typeof value === 'string') return `{"stringValue":${JSON.stringify(value)}}`
  // 64-bit numbers are texts in this encoding.
  if (typeof value === 'boolean') return `{"boolValue":${value}}`
  if (typeof value === 'object' && 'double' in value) return `{"doubleValue":${value.double}}`
  if (typeof value === 'number') return Number.isInteger(value) ? `{"intValue":"${value}"}` : `{"doubleValue":${value}}`
  return `{"arrayValue":{"values":[${value.map((one) => `{"stringValue":${JSON.stringify(one)}}`).join(',')}]}}`
}

/** Microseconds are exact in a number, nanoseconds of the epoch are not. */
function nanoseconds(ms: number): string {
  return `${Math.round(ms * 1000)}000`
}
