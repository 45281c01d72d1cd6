import { crc32, deflateSync } from 'node:zlib'
import { wavOf } from '../../src/media/convert/wav.ts'

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

function encodePng(width: number, height: number, colourAt: (x: number, y: number) => Colour): Buffer {
  const rows = Array.from({ length: height }, (_, y) => [0, ...Array.from({ length: width }, (_, x) => colourAt(x, y)).flat()])
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  // Eight bits of each of three colours.
  head.set([8, 2, 0, 0, 0], 8)
  const pixels = deflateSync(Buffer.from(rows.flat()))
  const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
  return Buffer.concat([signature, chunk('IHDR', head), chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))])
}

/** A WAV of a tone, 16 bits and 16 kHz. */
export function wav(seconds: number, hertz = 440): Buffer {
  const rate = 16_000
  const samples = Buffer.alloc(Math.round(seconds * rate) * 2)
  for (let index = 0; index * 2 < samples.length; index++) {
    samples.writeInt16LE(Math.round(8000 * Math.sin((2 * Math.PI * hertz * index) / rate)), index * 2)
  }
  return wavOf(samples, rate)
}

function chunk(type: string, content: Buffer): Buffer {
  const size = Buffer.alloc(4)
  size.writeUInt32BE(content.length)
  const named = Buffer.concat([Buffer.from(type), content])
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(named) >>> 0)
  return Buffer.concat([size, named, sum])
}
