import { textOfFile } from './utf8.ts'

type Bounds = {
  /** Names the source in the error. */
  readonly what: string
  readonly mostBytes: number
}

/** The UTF-8 text of a foreign body, without a byte order mark. Rejects beyond `mostBytes`, without reading the rest. */
export async function textOf(source: AsyncIterable<Uint8Array>, bounds: Bounds): Promise<string> {
  return new TextDecoder().decode(await bytesOf(source, bounds))
}

/** The same of a file that a person wrote. Rejects as `textOfFile` throws, too. */
export async function writtenText(file: AsyncIterable<Uint8Array>, bounds: Bounds): Promise<string> {
  return textOfFile(await bytesOf(file, bounds)).replace(/^\ufeff/, '')
}

async function bytesOf(source: AsyncIterable<Uint8Array>, { what, mostBytes }: Bounds): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of source) {
    length += piece.byteLength
    if (length > mostBytes) throw new Error(`${what} has more than ${mostBytes} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}
