/**
 * The text of a file that a person wrote. Throws for another encoding, which programs of Windows write: decoded all the same, it would be other
 * text.
 */
export function textOfFile(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    const [first, second] = bytes
    const isUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)
    throw new Error(`it is ${isUtf16 ? 'UTF-16' : 'not UTF-8'}: save it as UTF-8`)
  }
}
