const firstPauseMs = 100
const longestPauseMs = 30_000
/** After serving for so long, an end is taken for the first one. */
const steadyMs = 60_000

/** How often a worker has ended in a row, and the pause before it is started again. */
export type Restart = { readonly failures: number; readonly pauseMs: number }

/** A worker has ended after serving for `servedMs`; `failures`: how often in a row before. */
export function nextRestart(failures: number, servedMs: number): Restart {
  const inARow = servedMs >= steadyMs ? 1 : failures + 1
  // The first pause is none: the others have the load of the one that is missing.
  return { failures: inARow, pauseMs: inARow === 1 ? 0 : Math.min(longestPauseMs, firstPauseMs * 2 ** (inARow - 2)) }
}
