/** Runs work, and counts the turns of this thread's event loop until it has ended: work that is done in this thread leaves none. */
export async function withTurnsMeanwhile<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly turns: number }> {
  let turns = 0
  let next: NodeJS.Immediate
  const turn = () => {
    turns += 1
    next = setImmediate(turn)
  }
  next = setImmediate(turn)
  try {
    return { result: await work(), turns }
  } finally {
    clearImmediate(next)
  }
}
