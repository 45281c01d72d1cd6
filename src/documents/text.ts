/** The text of bytes in UTF-8 or, with its mark, UTF-16; undefined: they are something else. No text has a NUL, and a PDF may be all text. */
export function readText(bytes: Uint8Array): string | undefined {
  if (isPdf(bytes)) return undefined
  const encoding = encodingOf(bytes)
  // Most binary files have one at their start.
  if (encoding === 'utf-8' && bytes.subarray(0, 4096).includes(0)) return undefined
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes)
    return text.includes('\0') ? undefined : text
  } catch {
    // Not in this encoding.
    return undefined
  }
}

function encodingOf([first, second]: Uint8Array): string {
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8'
}

/** Whether bytes begin as those of a PDF. */
export function isPdf(bytes: Uint8Array): boolean {
  return String.fromCharCode(...bytes.subarray(0, 5)) === '%PDF-'
}
