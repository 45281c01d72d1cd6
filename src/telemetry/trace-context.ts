import { randomHex } from '../base/random-hex.ts'

/** A place in a trace: its ids in lower-case hexadecimal digits. */
export type SpanContext = { readonly traceId: string; readonly spanId: string; readonly isSampled: boolean }

const pattern = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/

/** Reads a W3C `traceparent`; undefined for one that is not valid. */
export function parseTraceparent(text: string): SpanContext | undefined {
  const [, version = 'ff', traceId = '', spanId = '', flags = '', more] = pattern.exec(text) ?? []
  // Later versions may be longer; version 00 may not.
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

export function toTraceparent({ traceId, spanId, isSampled }: SpanContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`
}

/** The place of a new span: below its parent, or at the beginning of a trace. */
export function newContext(parent: SpanContext | undefined): SpanContext {
  const { traceId = randomHex(), isSampled = true } = parent ?? {}
  return { traceId, spanId: randomHex().slice(0, 16), isSampled }
}
