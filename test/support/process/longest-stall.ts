/** Runs work, and measures it and the longest time in which the event loop of this thread ran nothing else, in milliseconds. */
export async function withLongestStall<T>(work: () => Promise<T>): Promise<{ result: T; tookMs: number; stallMs: number }> {
  let stallMs = 0
  let lastMs = performance.now()
  const watch = setInterval(() => {
    stallMs = Math.max(stallMs, performance.now() - lastMs)
    lastMs = performance.now()
  }, 1)
  const startMs = performance.now()
  try {
    const result = await work()
    return { result, tookMs: performance.now() - startMs, stallMs }
  } finally {
    clearInterval(watch)
  }
}
