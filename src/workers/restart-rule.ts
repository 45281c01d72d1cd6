const firstPauseMs = 100
const longestPauseMs = 30_000
/** After serving for this long, a failure counts as the first. */
const steadyMs = 60_000

/** How often a worker has ended in a row, and the pause before its restart. */
type Restart = { readonly failures: number; readonly pauseMs: number }

/** For a worker that ended after serving for `servedMs`; `failures`: the earlier ones in a row. */
export function nextRestart(failures: number, servedMs: number): Restart {
  const inARow = servedMs >= steadyMs ? 1 : failures + 1
  // The first restart is immediate: the others carry the load of the missing one.
  return { failures: inARow, pauseMs: inARow === 1 ? 0 : Math.min(longestPauseMs, firstPauseMs * 2 ** (inARow - 2)) }
}
