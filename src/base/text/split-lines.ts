/** The lines of a file; undefined for one that is too long. */
export async function* splitLines(bytes: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<string | undefined> {
  const newline = 10
  let waiting: Uint8Array[] = []
  let waitingBytes = 0
  const add = (piece: Uint8Array) => {
    waitingBytes += piece.length
    // Only the length of a line that is too long is kept.
    if (waitingBytes <= maxBytes) waiting.push(piece)
  }
  const take = (): string | undefined => {
    const text = waitingBytes > maxBytes ? undefined : Buffer.concat(waiting).toString('utf8')
    waiting = []
    waitingBytes = 0
    return text
  }
  for await (const piece of bytes) {
    let start = 0
    for (let end = piece.indexOf(newline); end >= 0; end = piece.indexOf(newline, start)) {
      add(piece.subarray(start, end))
      start = end + 1
      yield take()
    }
    if (start < piece.length) add(piece.subarray(start))
  }
  if (waitingBytes > 0) yield take()
}
