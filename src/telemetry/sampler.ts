import type { Sampler } from './settings.ts'
import type { SpanContext } from './trace-context.ts'

/** Whether the spans of a request are recorded: as its caller decided, or for a share of the traces, chosen equally by all servers. */
export function isSampled({ ratio, followsParent }: Sampler, traceId: string, parent: SpanContext | undefined): boolean {
  if (followsParent && parent !== undefined) return parent.isSampled
  if (ratio >= 1) return true
  // The last 56 bits are random (W3C Trace Context, level 2); 48 of them are exact in a number.
  return Number.parseInt(traceId.slice(-12), 16) < ratio * 2 ** 48
}
