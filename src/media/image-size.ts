import { imageDimensionsFromData } from 'image-dimensions'

type ImageSize = { readonly width: number; readonly height: number }

/** How far to look for the size of a JPEG: profiles and depth maps may precede it. */
const jpegHeadBytes = 4 * 1024 * 1024
/**
 * The longest box that is read for the size of AVIF and HEIC, usually a few kilobytes: one of 20 MiB, full of empty boxes, took 14 seconds.
 */
const maxBoxBytes = 64 * 1024
const maxBoxes = 100
const inBoxes = new Set(['image/avif', 'image/heic'])

/** The size of an image, from its header alone; undefined where it cannot be found. */
export function readImageSize(bytes: Buffer, mediaType: string): ImageSize | undefined {
  if (mediaType === 'image/bmp') return positive(readBmpSize(bytes))
  return positive(imageDimensionsFromData(inBoxes.has(mediaType) ? headerBoxes(bytes) : bytes.subarray(0, jpegHeadBytes)))
}

/** The boxes of ISO/IEC 14496-12 that name the format and describe the image. */
function headerBoxes(bytes: Buffer): Buffer {
  const found: Buffer[] = []
  for (let at = 0, boxes = 0; at + 16 <= bytes.length && boxes < maxBoxes; boxes += 1) {
    const size = bytes.readUInt32BE(at)
    // 0: up to the end; 1: a longer number follows.
    const length = size === 0 ? bytes.length - at : size === 1 ? Number(bytes.readBigUInt64BE(at + 8)) : size
    if (length < 8) break
    const isHeader = ['ftyp', 'meta'].includes(bytes.toString('latin1', at + 4, at + 8))
    if (isHeader && length <= maxBoxBytes) found.push(bytes.subarray(at, at + length))
    at += length
  }
  return Buffer.concat(found)
}

function positive(size: ImageSize | undefined): ImageSize | undefined {
  return size !== undefined && size.width > 0 && size.height > 0 ? { width: size.width, height: size.height } : undefined
}

/** A negative height is that of an image stored from its top. */
function readBmpSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 26) return undefined
  const isOld = bytes.readUInt32LE(14) === 12
  return isOld
    ? { width: bytes.readUInt16LE(18), height: bytes.readUInt16LE(20) }
    : { width: Math.abs(bytes.readInt32LE(18)), height: Math.abs(bytes.readInt32LE(22)) }
}
