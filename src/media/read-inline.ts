import type { MediaItem } from '../contract/media.ts'
import { refuseSize } from './check-bytes.ts'
import { decodeBase64, isStandardBase64, sizeOfBase64 } from './decode-base64.ts'
import { invalid } from './invalid.ts'
import type { MediaLimits } from './limits.ts'
import { decodePercent, parseDataUrl } from './parse-data-url.ts'

/** Bytes, and where they are at hand, their base64 and the declared media type. */
export type FoundBytes = { readonly bytes: Buffer; readonly base64?: string; readonly declared?: string }

/** Percent-encoding is for small pictures; decoding this many characters takes milliseconds. */
const maxPercentChars = 1024 * 1024

/** Media that the request itself holds as base64. Rejects with `invalid-request`. */
export async function readBase64(base64: string, item: MediaItem, limits: MediaLimits): Promise<FoundBytes> {
  refuseSize(sizeOfBase64(base64), item, limits)
  const bytes = await decodeBase64(base64)
  if (bytes === undefined) throw invalid(item.at, 'is not valid base64: encode the bytes again')
  return isStandardBase64(base64) ? { bytes, base64 } : { bytes }
}

/** Media in a `data:` URL. */
export async function readDataUrl(url: string, item: MediaItem, limits: MediaLimits): Promise<FoundBytes> {
  const parsed = parseDataUrl(url)
  if (parsed === undefined) throw invalid(item.at, `is not a data: URL: expected data:${item.kind}/...;base64,...`)
  const declared = parsed.mediaType === '' ? {} : { declared: parsed.mediaType }
  if (parsed.encoding === 'base64') return { ...(await readBase64(parsed.data, item, limits)), ...declared }
  if (parsed.data.length > maxPercentChars) {
    throw invalid(
      item.at,
      `has ${parsed.data.length} percent-encoded characters, more than ${maxPercentChars}: send it as base64`,
    )
  }
  const bytes = decodePercent(parsed.data)
  if (bytes === undefined) throw invalid(item.at, 'is not percent-encoded: each % needs two hexadecimal digits after it')
  return { bytes, ...declared }
}
