import { setFlagsFromString } from 'node:v8'

const v8Version = Number.parseInt(process.versions.v8, 10)

/** What Node is started with, since V8 reads it only then. What it gains: docs/decisions/0016. */
export const startFlags = [
  // The size of the young generation in MB, twice the default. What lives when it is full is copied; a larger one is full less often, but
  // takes longer. With Node 26, that costs more than it gains; Node 24, whose V8 is near, is not measured.
  ...(v8Version < 13 ? ['--max-semi-space-size=32'] : []),
  // In a quiet moment V8 would give memory back, and with it forget what it knows of objects of which there are none then: the machine code of
  // 280 functions with them. Thousands of requests would then take up to six times as long to compute.
  '--no-memory-reducer',
]

/** Sets V8 to serve many requests at once. Call it before the first. What it gains: docs/decisions/0016. */
export function tuneV8(): void {
  // Otherwise V8 believes that the objects of requests live long, and allocates them among its old ones, where each keeps all that it refers
  // to until the next full collection.
  setFlagsFromString('--no-allocation-site-pretenuring')
  // A request goes through hundreds of small functions. V8 stops putting them into their callers at 920 bytes.
  setFlagsFromString('--max-inlined-bytecode-size-cumulative=2000')
}
