import { crc32, deflateSync } from 'node:zlib'
import type { Picture } from '../../documents/parts.ts'

const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
const colourTypes = { 1: 0, 3: 2 } as const
/** Pages are mostly white. */
const level = 3

/** A picture as PNG (ISO/IEC 15948), without filters. */
export function encodePng({ width, height, channels, data }: Picture): Buffer {
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([8, colourTypes[channels], 0, 0, 0], 8)
  const rowBytes = width * channels
  const rows = Buffer.alloc((rowBytes + 1) * height)
  for (let y = 0; y < height; y++) rows.set(data.subarray(y * rowBytes, (y + 1) * rowBytes), y * (rowBytes + 1) + 1)
  return pngOf(head, deflateSync(rows, { level }))
}

/** A PNG of its header and its compressed rows. */
export function pngOf(head: Buffer, rows: Buffer): Buffer {
  return Buffer.concat([signature, chunk('IHDR', head), chunk('IDAT', rows), chunk('IEND', Buffer.alloc(0))])
}

function chunk(type: string, content: Buffer): Buffer {
  const size = Buffer.alloc(4)
  size.writeUInt32BE(content.length)
  const named = Buffer.concat([Buffer.from(type), content])
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(named) >>> 0)
  return Buffer.concat([size, named, sum])
}
