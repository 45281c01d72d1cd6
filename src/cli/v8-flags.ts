import { setFlagsFromString } from 'node:v8'

/** Flags for the start of Node, when V8 reads them. Their effect: docs/inside/performance.md. */
export const startFlags = [
  // In a quiet moment V8 would give memory back, and with it forget the shapes of objects that do not exist then, and the machine code of
  // 280 functions. Thousands of requests would then take up to six times as long to compute.
  '--no-memory-reducer',
]

/** Tunes V8 to serve many concurrent requests. Call it before the first. The effect: docs/inside/performance.md. */
export function tuneV8(): void {
  // Otherwise V8 assumes that the objects of requests live long, and allocates them among its old ones, where each keeps everything that it
  // refers to until the next full collection.
  setFlagsFromString('--no-allocation-site-pretenuring')
  // A request runs through hundreds of small functions. V8 stops inlining them into their callers at 920 bytes.
  setFlagsFromString('--max-inlined-bytecode-size-cumulative=2000')
}
