import { imageDimensionsFromData } from 'image-dimensions'

export type ImageSize = { readonly width: number; readonly height: number }

/** The size of an image, from its header alone; undefined where it cannot be found. */
export function readImageSize(bytes: Buffer, mediaType: string): ImageSize | undefined {
  const size = mediaType === 'image/bmp' ? readBmpSize(bytes) : imageDimensionsFromData(bytes)
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
