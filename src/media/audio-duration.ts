import { chunksOf } from '../base/wav.ts'

/** How long audio lasts by its header, in milliseconds; undefined where the format or its header does not say. */
export function readDurationMs(bytes: Buffer, mediaType: string): number | undefined {
  switch (mediaType) {
    case 'audio/wav':
      return readWav(bytes)
    case 'audio/flac':
      return readFlac(bytes)
    case 'audio/mpeg':
      return readMp3(bytes)
    default:
      return undefined
  }
}

/** The data chunk divided by the byte rate of the format chunk; a chunk that claims more than there is counts as it claims. */
function readWav(bytes: Buffer): number | undefined {
  let bytesPerSecond: number | undefined
  for (const { name, size, chunk } of chunksOf(bytes)) {
    if (name === 'fmt ' && chunk.length >= 12) bytesPerSecond = chunk.readUInt32LE(8)
    if (name === 'data') return bytesPerSecond === undefined || bytesPerSecond === 0 ? undefined : (size / bytesPerSecond) * 1000
  }
  return undefined
}

/** STREAMINFO, which comes first: 20 bits of sample rate, 36 bits of samples. */
function readFlac(bytes: Buffer): number | undefined {
  if (bytes.length < 26) return undefined
  const sampleRate = bytes.readUIntBE(18, 3) >> 4
  const samples = (bytes.readUInt8(21) & 0x0f) * 2 ** 32 + bytes.readUInt32BE(22)
  return sampleRate === 0 || samples === 0 ? undefined : (samples / sampleRate) * 1000
}

const mp3Kbps = [
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
] as const

/** The bytes divided by the bit rate of the first frame: exact for a constant bit rate, an estimate for others. */
function readMp3(bytes: Buffer): number | undefined {
  const start = bytes.toString('latin1', 0, 3) === 'ID3' && bytes.length > 10 ? 10 + readId3Size(bytes) : 0
  if (start + 4 > bytes.length) return undefined
  const [first = 0, second = 0, third = 0] = bytes.subarray(start)
  const isLayer3 = first === 0xff && (second & 0xe6) === 0xe2
  if (!isLayer3) return undefined
  const isMpeg1 = (second & 0x18) === 0x18
  const kbps = mp3Kbps[isMpeg1 ? 0 : 1][third >> 4]
  return kbps === undefined || kbps === 0 ? undefined : ((bytes.length - start) * 8) / kbps
}

/** Seven bits per byte. */
function readId3Size(bytes: Buffer): number {
  return bytes.subarray(6, 10).reduce((size, byte) => size * 128 + (byte & 0x7f), 0)
}
