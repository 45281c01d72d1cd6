/** What one turn of the event loop may take: other streams wait meanwhile. */
const maxTurnMs = 10
let startedMs: number | undefined

const endTurn = () => {
  startedMs = undefined
}

/** Undefined while this turn of the event loop is short; otherwise a promise of the next. Shared by all requests. */
export function unlessLong(): Promise<void> | undefined {
  const now = performance.now()
  if (startedMs === undefined) {
    startedMs = now
    setImmediate(endTurn)
    return undefined
  }
  return now - startedMs < maxTurnMs ? undefined : new Promise((resolve) => setImmediate(resolve))
}
