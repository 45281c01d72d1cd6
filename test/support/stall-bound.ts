import { cpus, loadavg } from 'node:os'

/**
 * How long a server's event loop may be held up, by the clock: the goal is 100 ms. Machines differ by three times and do other work, and
 * what these tests are for (a pattern or a copy whose cost grows with the square) takes seconds.
 */
export function longestStallMs(): number {
  return 500 * Math.max(1, (loadavg()[0] ?? 0) / cpus().length)
}
