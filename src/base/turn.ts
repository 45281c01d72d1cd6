/** What one turn of the event loop may take: everybody else waits meanwhile. */
const maxTurnMs = 10
let startedMs: number | undefined

const endTurn = () => {
  startedMs = undefined
}

/**
 * The rule for whatever a peer can send many of in one piece: messages, requests, events. Ask before each of them. Undefined while this
 * turn of the event loop is short; otherwise a promise of the next. All peers share the turn.
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
