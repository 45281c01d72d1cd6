const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')

/** The files in a stream of PNGs. What is truncated at its end is left out. */
export function splitPngs(stream: Buffer): readonly Buffer[] {
  const files: Buffer[] = []
  let start = 0
  while (stream.subarray(start, start + signature.length).equals(signature)) {
    let at = start + signature.length
    let type = ''
    while (type !== 'IEND' && at + 12 <= stream.length) {
      type = stream.toString('latin1', at + 4, at + 8)
      // Length, type and checksum around the content.
      at += 12 + stream.readUInt32BE(at)
    }
    if (type !== 'IEND' || at > stream.length) break
    files.push(stream.subarray(start, at))
    start = at
  }
  return files
}
