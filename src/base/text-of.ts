type Bounds = {
  /** Of whose text it is, in the error. */
  readonly what: string
  readonly mostBytes: number
}

/** The UTF-8 text of a body or a file that is not ours. Rejects where it has more bytes, without reading them. */
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
