import { cpus, loadavg } from 'node:os'

/** How much longer things take by the clock on a machine that does other work: 1 on one that has processors to spare. */
export function loadFactor(): number {
  return Math.max(1, (loadavg()[0] ?? 0) / cpus().length)
}

/**
 * The CPU time within which a server answers `/health` beside the largest requests. The goal is 100 ms, and `SHOW_STALLS` prints the figures;
 * the bound leaves room for noise, and for busy neighbours, which share the caches.
 */
export function mostHealthMs(): number {
  return loadFactor() > 1 ? 300 : 200
}

/**
 * How long a server's event loop may be held up, by the clock: the goal is 100 ms. Machines differ by three times and do other work, and
 * what these tests are for (a pattern or a copy whose cost grows with the square) takes seconds.
 */
export function longestStallMs(): number {
  return 500 * loadFactor()
}

/**
 * Within which a cancel ends the reply and all that runs for it. The product promises 200 ms, which `bench/tool-cancel.ts` measures; a test
 * asks and looks over a connection besides.
 */
export function mostCancelMs(): number {
  return 400 * loadFactor()
}

/** Cancels something and waits until it has ended; rejects when that takes longer than the product promises. */
export async function soon<T>(cancel: () => Promise<T>): Promise<T> {
  const startMs = performance.now()
  const result = await cancel()
  const tookMs = performance.now() - startMs
  const mostMs = mostCancelMs()
  if (tookMs > mostMs) throw new Error(`the cancel took ${Math.round(tookMs)} ms, more than ${Math.round(mostMs)} ms`)
  return result
}
