import { deflateSync } from 'node:zlib'
import { writeWav } from '../../src/base/wav.ts'
import { pngOf } from '../../src/media/convert/encode-png.ts'

type Colour = readonly [red: number, green: number, blue: number]

/** Equal shapes on a plain ground, in pixels; `reach` is half of a shape's width. */
export type Drawing = {
  readonly size: readonly [width: number, height: number]
  readonly ground: Colour
  readonly paint: Colour
  readonly kind: 'square' | 'circle'
  readonly shapes: readonly { readonly x: number; readonly y: number; readonly reach: number }[]
}

/** A PNG of one colour. */
export function png(colour: Colour, { width = 40, height = 30 } = {}): Buffer {
  return encodePng(width, height, () => colour)
}

/** A PNG of a drawing. */
export function drawing({ size: [width, height], ground, paint, kind, shapes }: Drawing): Buffer {
  const distance = (x: number, y: number) => (kind === 'circle' ? Math.hypot(x, y) : Math.max(Math.abs(x), Math.abs(y)))
  const isInside = (x: number, y: number) => shapes.some((shape) => distance(x - shape.x, y - shape.y) < shape.reach)
  return encodePng(width, height, (x, y) => (isInside(x + 0.5, y + 0.5) ? paint : ground))
}

/** A PNG of black pixels; valid, except that `claimed` puts another size into its header. `level`: of its compression, 0 to 9. */
export function blankPng(width = 2, height = 2, { claimed = { width, height }, level = 6 } = {}): Buffer {
  return pngOfSize(claimed, Buffer.alloc((1 + width * 3) * height), level)
}

function encodePng(width: number, height: number, colourAt: (x: number, y: number) => Colour): Buffer {
  const rows = Array.from({ length: height }, (_, y) => [0, ...Array.from({ length: width }, (_, x) => colourAt(x, y)).flat()])
  return pngOfSize({ width, height }, Buffer.from(rows.flat()))
}

function pngOfSize({ width, height }: { readonly width: number; readonly height: number }, rows: Buffer, level = 6): Buffer {
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  // Eight bits of each of three colours.
  head.set([8, 2, 0, 0, 0], 8)
  return pngOf(head, deflateSync(rows, { level }))
}

/** A WAV of a tone, 16 bits and 16 kHz. */
export function wav(seconds: number, hertz = 440): Buffer {
  const rate = 16_000
  const samples = Buffer.alloc(Math.round(seconds * rate) * 2)
  for (let index = 0; index * 2 < samples.length; index++) {
    samples.writeInt16LE(Math.round(8000 * Math.sin((2 * Math.PI * hertz * index) / rate)), index * 2)
  }
  return writeWav(samples, { frameBytes: 2, framesPerSecond: rate })
}

/** Silence in 8-bit mono; valid, except that `claimedBytes` puts another size into its header. */
export function silence(samples = 800, { sampleRate = 8000, claimedBytes = samples } = {}): Buffer {
  const header = Buffer.alloc(44)
  header.write('RIFF', 0, 'latin1')
  header.writeUInt32LE(36 + samples, 4)
  header.write('WAVEfmt ', 8, 'latin1')
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(sampleRate, 24)
  header.writeUInt32LE(sampleRate, 28)
  header.writeUInt16LE(1, 32)
  header.writeUInt16LE(8, 34)
  header.write('data', 36, 'latin1')
  header.writeUInt32LE(claimedBytes, 40)
  return Buffer.concat([header, Buffer.alloc(samples, 0x80)])
}

/** Of each format the least that tells its type and size; no pixels. */
export const images = {
  'image/gif': Buffer.concat([Buffer.from('GIF89a', 'latin1'), Buffer.from([3, 0, 2, 0, 0, 0, 0, 0x3b])]),
  'image/bmp': Buffer.concat([
    Buffer.from('BM', 'latin1'),
    Buffer.alloc(12),
    Buffer.from([40, 0, 0, 0, 3, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff]),
    Buffer.alloc(28),
  ]),
  'image/jpeg': Buffer.from('ffd8ffe000104a46494600010100000100010000ffc00011080002000303011100021101031101ffd9', 'hex'),
  'image/webp': Buffer.from('524946461e000000574542505650384c110000002f0240000007d0ff', 'hex'),
} as const
