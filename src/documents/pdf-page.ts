import type { PDFPageProxy } from 'unpdf/pdfjs'
import type { Picture } from './parts.ts'

/** Models shrink what is larger. */
const longestEdge = 1568
/** Smaller ones are marks and lines. */
const leastEdge = 32
/** Fewer are a frame or a line on an empty page. */
const fewPaths = 20
/** A share of the page: less is a logo, more is the page itself or what is behind its text. */
const figureShare = { least: 0.04, most: 0.5 }

type Look = {
  /** In their order; each is made upright and small when it is asked for. */
  readonly pictures: readonly (() => Picture)[]
  /** The share of the page that they take. */
  readonly coverage: number
  /** How many of them are figures among a text. */
  readonly figures: number
  /** What was decoded. */
  readonly pixels: number
  /** It has many lines and shapes. */
  readonly isDrawn: boolean
}

/** The pictures of a page, and whether it is drawn. `withoutShared`: not the pictures that other pages show, too, such as a background. */
export async function lookAt(page: PDFPageProxy, { withoutShared }: { readonly withoutShared: boolean }): Promise<Look> {
  const { OPS } = await (await import('unpdf')).getResolvedPDFJS()
  const { fnArray, argsArray } = await page.getOperatorList()
  const [left = 0, bottom = 0, right = 0, top = 0] = page.view
  const pageArea = Math.abs((right - left) * (top - bottom))
  const pictures: (() => Picture)[] = []
  const shares: number[] = []
  let pixels = 0
  /** The area of a unit square, in the outer and the present states. */
  const outer: number[] = []
  let unit = 1
  for (const [index, operator] of fnArray.entries()) {
    const args = argsArray[index] ?? []
    if (operator === OPS.save || operator === OPS.paintFormXObjectBegin) outer.push(unit)
    else if (operator === OPS.restore || operator === OPS.paintFormXObjectEnd) unit = outer.pop() ?? unit
    if (operator === OPS.transform) unit *= scaleOf(args)
    else if (operator === OPS.paintFormXObjectBegin && args[0]) unit *= scaleOf(args[0])
    const image = await imageOf(page, { OPS, operator, args, withoutShared })
    if (image === undefined) continue
    shares.push(unit / pageArea)
    pixels += image.width * image.height
    pictures.push(() => turned(shrunk(image), page.rotate))
  }
  const paths = fnArray.filter((operator) => operator === OPS.constructPath).length
  const figures = shares.filter((share) => share >= figureShare.least && share < figureShare.most).length
  const coverage = shares.reduce((sum, share) => sum + share, 0)
  return { pictures, coverage, figures, pixels, isDrawn: paths >= fewPaths }
}

function scaleOf([a = 1, b = 0, c = 0, d = 1]: Iterable<number>): number {
  return Math.abs(a * d - b * c)
}

/** As pdf.js decodes an image: bits, of which 1 is white, in whole bytes for each row (kind 1); RGB (2); RGBA (3). */
type Decoded = { readonly width: number; readonly height: number; readonly kind: 1 | 2 | 3; readonly data: Uint8Array }

type Operation = {
  readonly OPS: Readonly<Record<string, number>>
  readonly operator: number
  // biome-ignore lint/suspicious/noExplicitAny: pdf.js declares them so.
  readonly args: any
  readonly withoutShared: boolean
}

async function imageOf(page: PDFPageProxy, { OPS, operator, args, withoutShared }: Operation): Promise<Decoded | undefined> {
  const isMask = operator === OPS.paintImageMaskXObject
  if (!isMask && operator !== OPS.paintImageXObject && operator !== OPS.paintInlineImageXObject) return undefined
  const [given] = args
  const name: unknown = isMask ? given?.data : given
  const isShared = typeof name === 'string' && name.startsWith('g_')
  if (isShared && withoutShared) return undefined
  const named = (wanted: string): Promise<Partial<Decoded> | null> =>
    new Promise((resolve) => (isShared ? page.commonObjs : page.objs).get(wanted, resolve))
  const { width = 0, height = 0, data, kind = 1 } = (typeof name === 'string' ? await named(name) : given) ?? {}
  return data !== undefined && width >= leastEdge && height >= leastEdge ? { width, height, data, kind } : undefined
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
