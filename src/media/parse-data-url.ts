/**
 * The parts of a `data:` URL: its data as text, which may be percent-encoded in either encoding, and its media type, which may be empty.
 */
type DataUrl = { readonly encoding: 'base64' | 'percent'; readonly data: string; readonly mediaType: string }

/** Media type and parameters are short; a head of megabytes would take long to read. */
const maxHeadChars = 1000

/** Splits a `data:` URL (RFC 2397). Undefined without a comma in the first thousand characters. */
export function parseDataUrl(url: string): DataUrl | undefined {
  const comma = url.slice(0, maxHeadChars).indexOf(',')
  if (comma === -1) return undefined
  const data = url.slice(comma + 1)
  const head = url.slice('data:'.length, comma)
  const mediaType = (head.split(';', 1)[0] as string).trim().toLowerCase()
  return { encoding: /;\s*base64\s*$/i.test(head) ? 'base64' : 'percent', data, mediaType }
}

/** The bytes of percent-encoded data. Undefined where a `%` is not followed by two hexadecimal digits. */
export function decodePercent(text: string): Buffer | undefined {
  const encoded = Buffer.from(text)
  const bytes = Buffer.allocUnsafe(encoded.length)
  let size = 0
  for (let index = 0; index < encoded.length; index += 1) {
    let byte = encoded[index] as number
    if (byte === percent) {
      byte = digit(encoded[index + 1]) * 16 + digit(encoded[index + 2])
      if (Number.isNaN(byte)) return undefined
      index += 2
    }
    bytes[size] = byte
    size += 1
  }
  return bytes.subarray(0, size)
}

const percent = 0x25

/** NaN unless it is a hexadecimal digit. */
function digit(char = 0): number {
  if (char >= 0x30 && char <= 0x39) return char - 0x30
  const letter = char | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : Number.NaN
}
