import { expect, test } from 'vitest'
import { pdfFile, type ScannedPage, scannedPdf } from '../../test/support/documents/pdf-file.ts'
import { readDocument } from './read-document.ts'
import { readScan } from './scan.ts'

const [width, height] = [40, 60]
const rgb = '/ColorSpace /DeviceRGB /BitsPerComponent 8'
/** Red on the left half, blue on the right. */
const halves = (from: readonly number[], to: readonly number[], size = [width, height] as const) =>
  Buffer.from(Array.from({ length: size[0] * size[1] }, (_, at) => (at % size[0] < size[0] / 2 ? from : to)).flat())
const coloured: ScannedPage = { width, height, dictionary: rgb, data: halves([255, 0, 0], [0, 0, 255]) }
/** Black on the left half; rows have whole bytes. */
const bits = Buffer.from(Array.from({ length: height }, () => [0, 0, 0x0f, 0xff, 0xff]).flat())

/** A pixel at a share of the width and height. */
async function pixelsOf(page: ScannedPage, ...places: readonly (readonly [x: number, y: number])[]) {
  const [picture] = await readScan(scannedPdf([page]))
  if (picture === undefined) throw new Error('no picture was found')
  const at = ([x, y]: readonly [number, number]) => {
    const start = (Math.floor(y * picture.height) * picture.width + Math.floor(x * picture.width)) * picture.channels
    return [...picture.data.subarray(start, start + picture.channels)]
  }
  return { size: [picture.width, picture.height], pixels: places.map(at) }
}

test.each<[string, ScannedPage, number[], number[]]>([
  ['in colours', coloured, [255, 0, 0], [0, 0, 255]],
  [
    'in greys',
    { width, height, dictionary: '/ColorSpace /DeviceGray /BitsPerComponent 8', data: halves([80], [200]) },
    [80, 80, 80],
    [200, 200, 200],
  ],
  ['in black and white', { width, height, dictionary: '/ColorSpace /DeviceGray /BitsPerComponent 1', data: bits }, [0], [255]],
  ['as a mask', { width, height, dictionary: '/ImageMask true /BitsPerComponent 1', data: bits }, [0], [255]],
])('a page %s becomes its picture', async (_, page, left, right) => {
  const { size, pixels } = await pixelsOf(page, [0.2, 0.5], [0.8, 0.5])
  expect(size).toEqual([width, height])
  expect(pixels).toEqual([left, right])
})

test('a page that is shown turned clockwise is turned', async () => {
  const turned = await pixelsOf({ ...coloured, rotate: 90 }, [0.5, 0.2], [0.5, 0.8])
  expect(turned).toEqual({
    size: [height, width],
    pixels: [
      [255, 0, 0],
      [0, 0, 255],
    ],
  })
  expect((await pixelsOf({ ...coloured, rotate: 180 }, [0.2, 0.5])).pixels).toEqual([[0, 0, 255]])
})

test('a large page is shrunk, with the means of its pixels', async () => {
  const size = [2000, 1000] as const
  const large = { width: size[0], height: size[1], dictionary: rgb, data: halves([255, 0, 0], [0, 0, 255], size) }
  expect(await pixelsOf(large, [0.2, 0.5], [0.8, 0.5])).toEqual({
    size: [1568, 784],
    pixels: [
      [255, 0, 0],
      [0, 0, 255],
    ],
  })
})

test('pages come in order, without small marks, and not more than a limit', async () => {
  const mark = { width: 8, height: 8, dictionary: rgb, data: halves([1, 1, 1], [1, 1, 1], [8, 8]) }
  const pictures = await readScan(scannedPdf([coloured, mark, { ...coloured, height: 50 }]))
  expect(pictures.map((picture) => picture.height)).toEqual([height, 50])
  await expect(readScan(scannedPdf(Array.from({ length: 65 }, () => coloured)))).rejects.toMatchObject({ reason: 'too-large' })
})

test('a scan has no text, and a PDF of text no pictures', async () => {
  expect(await readDocument(scannedPdf([coloured]))).toMatchObject({ reason: 'no-text' })
  expect(await readScan(pdfFile(['A text.']))).toEqual([])
})
