import { expect, test } from 'vitest'
import { readImageSize } from './image-size.ts'

const mib = 1024 * 1024

function box(type: string, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const head = Buffer.alloc(8)
  head.writeUInt32BE(8 + content.length)
  head.write(type, 4, 'latin1')
  return Buffer.concat([head, content])
}

const numbers = (...values: readonly number[]) => {
  const bytes = Buffer.alloc(4 * values.length)
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, 4 * index)
  return bytes
}

const ftyp = box('ftyp', Buffer.from('avif'), numbers(0), Buffer.from('mif1'))
/** One item of 30 by 20 pixels; the last box may be anything. */
const meta = (...more: readonly Buffer[]) =>
  box(
    'meta',
    numbers(0),
    box('pitm', numbers(0), Buffer.from([0, 1])),
    box('iprp', box('ipco', box('ispe', numbers(0, 30, 20))), box('ipma', numbers(0, 1), Buffer.from([0, 1, 1, 1]))),
    ...more,
  )
const emptyBoxes = (bytes: number) => Buffer.alloc(bytes, box('free'))
const size = { width: 30, height: 20 }

test.each<[string, Buffer, object | undefined]>([
  ['at the begin', Buffer.concat([ftyp, meta(), box('mdat', Buffer.alloc(mib))]), size],
  ['after the pixels', Buffer.concat([ftyp, box('mdat', Buffer.alloc(mib)), meta()]), size],
  ['with a profile', Buffer.concat([ftyp, meta(box('free', Buffer.alloc(50_000)))]), size],
  // Each empty box takes microseconds.
  ['with millions of empty boxes in it', Buffer.concat([ftyp, meta(emptyBoxes(20 * mib))]), undefined],
  ['after thousands of empty boxes', Buffer.concat([ftyp, emptyBoxes(80_000), meta()]), undefined],
  ['that is cut', Buffer.concat([ftyp, meta()]).subarray(0, 80), undefined],
  ['of no length', Buffer.concat([ftyp, numbers(2, 0, 0, 0)]), undefined],
])('the header of an AVIF %s', (_, bytes, expected) => {
  expect(readImageSize(bytes, 'image/avif')).toEqual(expected)
})

/** A JPEG whose frame header comes after this many bytes of others. */
function jpeg(bytesBefore: number): Buffer {
  const segment = Buffer.alloc(2 ** 16)
  segment.set([0xff, 0xe1, 0xff, 0xfe])
  const frame = Buffer.from([0xff, 0xc0, 0, 11, 8, 0, 20, 0, 30, 1, 1, 0x11, 0])
  return Buffer.concat([Buffer.from([0xff, 0xd8]), ...Array(bytesBefore / segment.length).fill(segment), frame])
}

test('the size of a JPEG may come after metadata of some megabytes', () => {
  expect(readImageSize(jpeg(3 * mib), 'image/jpeg')).toEqual(size)
  expect(readImageSize(jpeg(5 * mib), 'image/jpeg')).toBeUndefined()
})
