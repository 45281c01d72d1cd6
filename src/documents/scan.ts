import type { PDFPageProxy } from 'unpdf/pdfjs'
import { openPdf } from './pdf.ts'
import { DocumentProblem } from './problem.ts'

/** Rows of pixels from the top, a byte for each channel: grey, or red, green and blue. */
export type Picture = { readonly width: number; readonly height: number; readonly channels: 1 | 3; readonly data: Uint8Array }

/** Models shrink what is larger. */
const longestEdge = 1568
/** Smaller ones are marks and lines. */
const leastEdge = 32
/** A scan has one for each page; some programs divide a page into stripes. */
const mostPictures = 64

/** The pictures in a PDF whose pages have no text, in their order, upright. Throws `DocumentProblem`. */
export async function readScan(bytes: Uint8Array): Promise<readonly Picture[]> {
  const pdf = await openPdf(bytes)
  try {
    const pictures: Picture[] = []
    for (let number = 1; number <= pdf.numPages; number++) {
      const page = await pdf.getPage(number)
      for await (const image of imagesOf(page)) pictures.push(turned(shrunk(image), page.rotate))
      page.cleanup()
      if (pictures.length > mostPictures)
        throw new DocumentProblem('too-large', `has more than ${mostPictures} pictures of pages: send a part of it`)
    }
    return pictures
  } finally {
    await pdf.loadingTask.destroy()
  }
}

/** As pdf.js decodes an image: bits, of which 1 is white, in whole bytes for each row (kind 1); RGB (2); RGBA (3). */
type Decoded = { readonly width: number; readonly height: number; readonly kind: 1 | 2 | 3; readonly data: Uint8Array }

async function* imagesOf(page: PDFPageProxy): AsyncGenerator<Decoded, void, void> {
  const { OPS } = await (await import('unpdf')).getResolvedPDFJS()
  const { fnArray, argsArray } = await page.getOperatorList()
  const named = (name: string): Promise<Partial<Decoded> | null> =>
    new Promise((resolve) => (name.startsWith('g_') ? page.commonObjs : page.objs).get(name, resolve))
  for (const [index, operator] of fnArray.entries()) {
    const isMask = operator === OPS.paintImageMaskXObject
    if (!isMask && operator !== OPS.paintImageXObject && operator !== OPS.paintInlineImageXObject) continue
    const [given] = argsArray[index] ?? []
    const name: unknown = isMask ? given?.data : given
    const { width = 0, height = 0, data, kind = 1 } = (typeof name === 'string' ? await named(name) : given) ?? {}
    if (data !== undefined && width >= leastEdge && height >= leastEdge) yield { width, height, data, kind }
  }
}

/** The picture within a square of `longestEdge`: each pixel is the mean of those in its place. */
function shrunk(image: Decoded): Picture {
  const scale = Math.max(1, Math.max(image.width, image.height) / longestEdge)
  const [width, height] = [Math.max(1, Math.floor(image.width / scale)), Math.max(1, Math.floor(image.height / scale))]
  const channels = image.kind === 1 ? 1 : 3
  const read = reader(image)
  const data = new Uint8Array(width * height * channels)
  for (let y = 0; y < height; y++) {
    const [top, bottom] = [Math.floor(y * scale), Math.floor((y + 1) * scale)]
    for (let x = 0; x < width; x++) {
      const [left, right] = [Math.floor(x * scale), Math.floor((x + 1) * scale)]
      for (let channel = 0; channel < channels; channel++) {
        let sum = 0
        for (let row = top; row < bottom; row++)
          for (let column = left; column < right; column++) sum += read(column, row, channel)
        data[(y * width + x) * channels + channel] = Math.round(sum / ((bottom - top) * (right - left)))
      }
    }
  }
  return { width, height, channels, data }
}

/** A channel of a pixel, on white. */
function reader({ width, kind, data }: Decoded): (x: number, y: number, channel: number) => number {
  if (kind === 1) {
    const rowBytes = (width + 7) >> 3
    return (x, y) => (((data[y * rowBytes + (x >> 3)] ?? 0) >> (7 - (x & 7))) & 1) * 255
  }
  if (kind === 2) return (x, y, channel) => data[(y * width + x) * 3 + channel] ?? 0
  return (x, y, channel) => {
    const at = (y * width + x) * 4
    return 255 - ((255 - (data[at + channel] ?? 0)) * (data[at + 3] ?? 0)) / 255
  }
}

/** Turns clockwise, by a multiple of 90 degrees. */
function turned(picture: Picture, degrees: number): Picture {
  if (degrees % 360 === 0) return picture
  const { width, height, channels, data } = picture
  const next = new Uint8Array(data.length)
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const from = (y * width + x) * channels
      next.set(data.subarray(from, from + channels), (x * height + height - 1 - y) * channels)
    }
  }
  return turned({ width: height, height: width, channels, data: next }, degrees - 90)
}
