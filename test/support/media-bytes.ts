import { deflateSync } from 'node:zlib'

/** A PNG of one colour; valid, except that `claimed` puts another size into its header. */
export function png(width = 2, height = 2, claimed = { width, height }): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(claimed.width, 0)
  header.writeUInt32BE(claimed.height, 4)
  header.set([8, 2], 8)
  const rows = Buffer.alloc((1 + width * 3) * height)
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data])
  const size = Buffer.alloc(4)
  size.writeUInt32BE(data.length)
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([size, body, sum])
}

function crc32(bytes: Buffer): number {
  let sum = 0xff_ff_ff_ff
  for (const byte of bytes) {
    sum ^= byte
    for (let bit = 0; bit < 8; bit += 1) sum = sum & 1 ? (sum >>> 1) ^ 0xed_b8_83_20 : sum >>> 1
  }
  return (sum ^ 0xff_ff_ff_ff) >>> 0
}

/** Silence in 8-bit mono; valid, except that `claimedBytes` puts another size into its header. */
export function wav(samples = 800, { sampleRate = 8000, claimedBytes = samples } = {}): Buffer {
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
