type Bounds = {
  /** Names the source in the error. */
  readonly what: string
  readonly mostBytes: number
}

/** The UTF-8 text of a foreign body or file. Rejects beyond `mostBytes`, without reading the rest. */
export async function textOf(source: AsyncIterable<Uint8Array>, { what, mostBytes }: Bounds): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let length = 0
  for await (const piece of source) {
    length += piece.byteLength
    if (length > mostBytes) throw new Error(`${what} has more than ${mostBytes} bytes`)
    text += decoder.decode(piece, { stream: true })
  }
  return text + decoder.decode()
}
