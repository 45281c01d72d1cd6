const orientationTag = 0x0112
const startOfScan = 0xda
const app1 = 0xe1

/** Whether simple decoders show a picture wrongly: they ignore the rotation of a JPEG, and what a PNG or GIF lets through. */
export function isMisdrawn(picture: Uint8Array): boolean {
  const bytes = new DataView(picture.buffer, picture.byteOffset, picture.byteLength)
  if (bytes.byteLength < 32) return false
  if (bytes.getUint16(0) === 0xffd8) return isTurned(bytes)
  if (bytes.getUint32(0) === 0x89504e47) return isSeeThrough(bytes)
  return bytes.getUint32(0) === 0x47494638 && hasClearColour(bytes)
}

function isTurned(jpeg: DataView): boolean {
  for (let at = 2; at + 4 <= jpeg.byteLength && jpeg.getUint8(at) === 0xff; ) {
    const marker = jpeg.getUint8(at + 1)
    const length = jpeg.getUint16(at + 2)
    if (marker === startOfScan || length < 2) return false
    if (marker === app1) {
      const orientation = readOrientation(partOf(jpeg, at + 4, at + 2 + length))
      if (orientation !== undefined) return orientation > 1 && orientation <= 8
    }
    at += 2 + length
  }
  return false
}

/** The orientation in an EXIF segment: a TIFF file with one directory that matters. */
function readOrientation(segment: DataView): number | undefined {
  // "Exif" and two zeros.
  if (segment.byteLength < 14 || segment.getUint32(0) !== 0x45786966 || segment.getUint16(4) !== 0) return undefined
  const tiff = partOf(segment, 6, segment.byteLength)
  const isLittle = tiff.getUint16(0) === 0x4949
  const directory = tiff.getUint32(4, isLittle)
  if (directory + 2 > tiff.byteLength) return undefined
  const count = tiff.getUint16(directory, isLittle)
  for (let entry = 0; entry < count; entry++) {
    const at = directory + 2 + entry * 12
    if (at + 12 > tiff.byteLength) return undefined
    if (tiff.getUint16(at, isLittle) === orientationTag) return tiff.getUint16(at + 8, isLittle)
  }
  return undefined
}

/** A PNG with an alpha channel, or with a colour that lets through. */
function isSeeThrough(png: DataView): boolean {
  const colours = png.getUint8(25)
  if (colours === 4 || colours === 6) return true
  for (let at = 8; at + 12 <= png.byteLength; at += 12 + png.getUint32(at)) {
    const name = png.getUint32(at + 4)
    // tRNS comes before IDAT.
    if (name === 0x74524e53) return true
    if (name === 0x49444154) return false
  }
  return false
}

/** A GIF whose first picture has a transparent colour: a bit of the extension before it. */
function hasClearColour(gif: DataView): boolean {
  const packed = gif.getUint8(10)
  let at = 13 + (packed & 0x80 ? 3 * 2 ** ((packed & 7) + 1) : 0)
  while (at + 4 <= gif.byteLength && gif.getUint8(at) === 0x21) {
    if (gif.getUint8(at + 1) === 0xf9) return (gif.getUint8(at + 3) & 1) === 1
    at += 2
    while (at < gif.byteLength && gif.getUint8(at) !== 0) at += 1 + gif.getUint8(at)
    at += 1
  }
  return false
}

/** The part that is there. */
function partOf({ buffer, byteOffset, byteLength }: DataView, from: number, to: number): DataView {
  const start = Math.min(from, byteLength)
  return new DataView(buffer, byteOffset + start, Math.max(0, Math.min(to, byteLength) - start))
}
