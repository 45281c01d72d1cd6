import { setFlagsFromString } from 'node:v8'

/** What Node is started with, since V8 reads it only then. What it gains: docs/performance.md. */
export const startFlags = [
  // In a quiet moment V8 would give memory back, and with it forget what it knows of objects of which there are none then: the machine code of
  // 280 functions with them. Thousands of requests would then take up to six times as long to compute.
  '--no-memory-reducer',
]

/** Sets V8 to serve many requests at once. Call it before the first. What it gains: docs/performance.md. */
export function tuneV8(): void {
  // Otherwise V8 believes that the objects of requests live long, and allocates them among its old ones, where each keeps all that it refers
  // to until the next full collection.
  setFlagsFromString('--no-allocation-site-pretenuring')
  // A request goes through hundreds of small functions. V8 stops putting them into their callers at 920 bytes.
  setFlagsFromString('--max-inlined-bytecode-size-cumulative=2000')
}
