import type { RequestSnapshot } from '../../contract/server/activity.ts'
import type { TraceEvent } from './replies.ts'

/** The history of requests: each is a row with its phases so far. */
export function encodeEventTrace(requests: readonly RequestSnapshot[]): readonly TraceEvent[] {
  return requests.flatMap(traceRequest)
}

function traceRequest({ id, startedAtMs, endedAtMs, state, timings = {} }: RequestSnapshot): TraceEvent[] {
  const at = (name: string, ph: TraceEvent['ph'], ms: number): TraceEvent => {
    return { name, ph, ts: Math.round(1000 * ms), pid: 1, tid: id }
  }
  const phase = (name: string, fromMs: number, toMs: number) => [at(name, 'B', fromMs), at(name, 'E', Math.max(fromMs, toMs))]
  const { queueMs, prefillMs, firstTokenMs, decodeMs } = timings
  const events = [at('request arrives', 'i', startedAtMs)]
  if (queueMs !== undefined) events.push(...phase('wait', startedAtMs, startedAtMs + queueMs))
  if (firstTokenMs !== undefined) {
    const firstAtMs = startedAtMs + firstTokenMs
    if (prefillMs !== undefined) events.push(...phase('prefill', Math.max(startedAtMs, firstAtMs - prefillMs), firstAtMs))
    if (decodeMs !== undefined) events.push(...phase('decode', firstAtMs, firstAtMs + decodeMs))
  }
  if (endedAtMs !== undefined) events.push(at(`request is ${state.type}`, 'i', endedAtMs))
  return events
}
