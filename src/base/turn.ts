/** The longest turn of the event loop: everything else waits for it. */
const maxTurnMs = 10
let startedMs: number | undefined

const endTurn = () => {
  startedMs = undefined
}

/**
 * Yields to other work, for loops over messages, requests or events that a peer can send in large numbers. Call it before each of them.
 * Undefined while this turn of the event loop is short; otherwise a promise of the next. All peers share the turn.
 */
export function unlessLong(): Promise<void> | undefined {
  const now = performance.now()
  if (startedMs === undefined) {
    startedMs = now
    setImmediate(endTurn)
    return undefined
  }
  return now - startedMs < maxTurnMs ? undefined : new Promise((resolve) => setImmediate(resolve))
}
