import type { z } from 'zod'
import { list, number, object, oneOf, text } from '../wire/json/shapes.ts'

/** An event in the form of Chrome's viewers: the beginning or the end of a phase, or an instant. Times are in microseconds; `tid` is the request. */
const traceEvent = object({ name: text, ph: oneOf(['B', 'E', 'i']), ts: number, pid: number, tid: text })
export type TraceEvent = z.input<typeof traceEvent>
export const eventTrace = list(traceEvent)
