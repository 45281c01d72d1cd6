import { expect, test } from 'vitest'
import { pdfFile, pdfOf, type ScannedPage, scannedPdf } from '../../test/support/documents/pdf-file.ts'
import type { Picture } from './parts.ts'
import { readDocument } from './read-document.ts'

const [width, height] = [40, 60]
const rgb = '/ColorSpace /DeviceRGB /BitsPerComponent 8'
/** Red on the left half, blue on the right. */
const halves = (from: readonly number[], to: readonly number[], size = [width, height] as const) =>
  Buffer.from(Array.from({ length: size[0] * size[1] }, (_, at) => (at % size[0] < size[0] / 2 ? from : to)).flat())
const coloured: ScannedPage = { width, height, dictionary: rgb, data: halves([255, 0, 0], [0, 0, 255]) }
/** Black on the left half; rows have whole bytes. */
const bits = Buffer.from(Array.from({ length: height }, () => [0, 0, 0x0f, 0xff, 0xff]).flat())

async function partsOf(bytes: Uint8Array, draw: ((picture: Picture) => Picture) | undefined = (picture) => picture) {
  const read = await readDocument(bytes, draw)
  if ('problem' in read) throw read
  return read.parts
}

/** A pixel at a share of the width and height. */
async function pixelsOf(page: ScannedPage, ...places: readonly (readonly [x: number, y: number])[]) {
  const [picture] = await partsOf(scannedPdf([page]))
  if (typeof picture !== 'object') throw new Error('no picture was found')
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

const shown = (parts: readonly (string | Picture)[]) => parts.map((part) => (typeof part === 'string' ? part : part.height))
const tall = (rows: number, others: Partial<ScannedPage> = {}): ScannedPage => ({ ...coloured, height: rows, ...others })
const blank: ScannedPage = { width: 8, height: 8, dictionary: rgb, data: halves([1, 1, 1], [1, 1, 1], [8, 8]) }
const long = 'Long enough for a page of text.\n'.repeat(10)

test('pages of a scan come in order, without small marks, and not more than a limit', async () => {
  expect(shown(await partsOf(scannedPdf([coloured, blank, tall(50)])))).toEqual([height, 50])
  const scan = (pages: number, others: Partial<ScannedPage> = {}) => Array.from({ length: pages }, () => tall(height, others))
  await expect(partsOf(scannedPdf(scan(65)))).rejects.toMatchObject({ reason: 'too-large' })
  const stamped = await partsOf(scannedPdf(scan(65, { text: 'stamp' })))
  expect(shown(stamped).slice(-2)).toEqual([height, '## Page 65\nstamp\n[picture, not read]'])
})

test('among pages of text, a page that is a picture has its place, and a note for those that see nothing', async () => {
  const pages = [
    tall(40, { text: long }),
    tall(41),
    tall(42, { text: '3 / 6' }),
    tall(43, { text: 'A logo', share: 0.03 }),
    blank,
  ]
  const text = long.trim()
  expect(shown(await partsOf(scannedPdf(pages)))).toEqual([
    `## Page 1\n${text}\n\n## Page 2`,
    41,
    '## Page 3\n3 / 6',
    42,
    '## Page 4\nA logo\n\n## Page 5',
  ])
  expect(await readDocument(scannedPdf(pages))).toEqual({
    kind: 'pdf',
    parts: [
      `## Page 1\n${text}\n\n## Page 2\n\n[picture, not read]\n\n## Page 3\n3 / 6\n[picture, not read]\n\n## Page 4\nA logo\n\n## Page 5`,
    ],
  })
})

test('of many pages with few words, later ones are taken to be as most were', async () => {
  const pages = (share: number) => Array.from({ length: 70 }, () => tall(33, { text: 'stamp', share }))
  const notes = async (share: number, draw?: (picture: Picture) => Picture) => {
    const read = await readDocument(scannedPdf(pages(share)), draw)
    return 'parts' in read && read.parts.join('').split('[picture, not read]').length - 1
  }
  expect([await notes(1), await notes(0.03), await notes(0.03, (picture) => picture)]).toEqual([70, 0, 0])
})

test('figures among a text are named, without logos and what is behind the text', async () => {
  const figure = (share: number, text = long) => tall(40, { text, share })
  const named = async (pages: readonly ScannedPage[]) => {
    const [text] = await partsOf(scannedPdf(pages))
    return String(text)
      .split(/## Page \d+/)
      .slice(1)
      .map((page) => page.trim().replace(long.trim(), 'long').replaceAll('\n', ' '))
  }
  expect(await named([figure(0.3), figure(0.03), figure(0.6), figure(0.3, 'Figure 1')])).toEqual([
    'long [picture, not read]',
    'long',
    'long',
    'Figure 1 [picture, not read]',
  ])
  // Looking at large ones takes long: of the fifth on, it is left out.
  const large = { ...coloured, ...{ width: 3000, height: 3000 }, data: Buffer.alloc(27_000_000), text: long, share: 0.3 }
  expect((await named(Array.from({ length: 6 }, () => large))).filter((page) => page.includes('not read'))).toHaveLength(4)
})

test('a page of drawn letters is named, and an empty one with a line is not', async () => {
  const lines = (count: number) => Buffer.from('0 0 m 10 10 l S '.repeat(count))
  const pdf = pdfOf([Buffer.from('BT /F1 12 Tf (A text.) Tj ET'), lines(1), lines(100)])
  expect(await partsOf(pdf)).toEqual(['## Page 1\nA text.\n\n## Page 2\n\n## Page 3\n\n[picture, not read]'])
})

test('a scan has no text for those that see nothing, and a PDF of text no pictures', async () => {
  expect(await readDocument(scannedPdf([coloured]))).toMatchObject({ reason: 'no-text' })
  expect(await partsOf(pdfFile(['A text.']))).toEqual(['A text.'])
})
