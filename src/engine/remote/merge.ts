/**
 * Runs several streams at once and yields what comes as it comes. The first failure ends all, and so does leaving the iteration:
 * `stop` is called then, and must end what the streams wait for.
 */
export async function* merge<T>(
  streams: readonly AsyncGenerator<T, unknown, void>[],
  stop: () => void,
): AsyncGenerator<T, void, void> {
  const pending = new Map(streams.map((stream, index) => [index, step(stream, index)]))
  try {
    while (pending.size > 0) {
      const { index, result } = await Promise.race(pending.values())
      const stream = streams[index]
      if (result.done === true || stream === undefined) {
        pending.delete(index)
        continue
      }
      pending.set(index, step(stream, index))
      yield result.value
    }
  } finally {
    stop()
    // Those that wait for something end when it comes; their own failures are nobody's any more.
    for (const waiting of pending.values()) waiting.catch(() => undefined)
    await Promise.allSettled(streams.map((stream) => stream.return(undefined)))
  }
}

async function step<T>(stream: AsyncGenerator<T, unknown, void>, index: number) {
  return { index, result: await stream.next() }
}
