const orientationTag = 0x0112
const startOfScan = 0xda
const app1 = 0xe1

/** Whether a JPEG asks to be rotated or mirrored, which simple decoders ignore. */
export function isTurned(jpeg: Buffer): boolean {
  if (jpeg.length < 4 || jpeg.readUInt16BE(0) !== 0xffd8) return false
  for (let at = 2; at + 4 <= jpeg.length && jpeg[at] === 0xff; ) {
    const marker = jpeg[at + 1]
    const length = jpeg.readUInt16BE(at + 2)
    if (marker === startOfScan || length < 2) return false
    if (marker === app1) {
      const orientation = readOrientation(jpeg.subarray(at + 4, at + 2 + length))
      if (orientation !== undefined) return orientation > 1 && orientation <= 8
    }
    at += 2 + length
  }
  return false
}

/** The orientation in an EXIF segment: a TIFF file with one directory that matters. */
function readOrientation(segment: Buffer): number | undefined {
  if (segment.toString('latin1', 0, 6) !== 'Exif\0\0') return undefined
  const tiff = segment.subarray(6)
  if (tiff.length < 8) return undefined
  const isLittle = tiff.toString('latin1', 0, 2) === 'II'
  const read16 = (at: number) => (isLittle ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at))
  const directory = isLittle ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4)
  if (directory + 2 > tiff.length) return undefined
  const count = read16(directory)
  for (let entry = 0; entry < count; entry++) {
    const at = directory + 2 + entry * 12
    if (at + 12 > tiff.length) return undefined
    if (read16(at) === orientationTag) return read16(at + 8)
  }
  return undefined
}
