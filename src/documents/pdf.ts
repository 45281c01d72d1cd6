import type { PDFDocumentProxy } from 'unpdf/pdfjs'
import { type Draw, type Picture, pictureNote } from './parts.ts'
import { lookAt } from './pdf-page.ts'
import { DocumentProblem, DocumentText } from './problem.ts'

/** Fewer characters on a picture that fills the page are a number, a stamp or a caption. */
const fewChars = 200
const fullCoverage = 0.5
/** A scan has one for each page; some programs divide a page into stripes. */
const mostPictures = 64

/** Looking at a page decodes its pictures, which takes up to a second; later pages are taken to be as most were. */
const mostLooks = 64
const mostLooksWithoutDrawing = 16
/** Figures on pages of text are named until these are reached: reading them takes some ten seconds. */
const mostFigurePixels = 32_000_000
const mostTextPages = 256

/** The text of a PDF, page by page; in the place of a page that is a picture, that picture or a note. Throws `DocumentProblem`. */
export async function readPdf<Drawn>(bytes: Uint8Array, draw: Draw<Drawn>): Promise<readonly (string | Drawn)[]> {
  const pdf = await openPdf(bytes)
  try {
    const texts = await textsOf(pdf)
    const hasText = texts.some(({ chars }) => chars > 0)
    if (!hasText && draw === undefined) throw onlyPictures()
    const parts: (string | Drawn)[] = []
    const looks = { left: draw === undefined ? mostLooksWithoutDrawing : mostLooks, balance: 0 }
    const figures = { pixels: mostFigurePixels, pages: mostTextPages }
    let count = 0
    for (const [index, { text, chars }] of texts.entries()) {
      if (hasText) parts.push(`${texts.length > 1 ? `\n## Page ${index + 1}\n` : ''}${text}\n`)
      const { shown, unread } =
        chars < fewChars
          ? await shownOn(pdf, index + 1, { hasText: chars > 0, canDraw: draw !== undefined, looks })
          : { shown: [], unread: await figuresOn(pdf, index + 1, figures) }
      parts.push(`${pictureNote()}\n`.repeat(unread))
      if (shown.length === 0) continue
      count += shown.length
      const isTooMany = count > mostPictures
      if (draw === undefined || (isTooMany && chars > 0)) parts.push(`${pictureNote()}\n`)
      else if (!isTooMany) for (const picture of shown) parts.push(await draw(picture()))
      else throw new DocumentProblem('too-large', `has more than ${mostPictures} pictures of pages: send a part of it`)
    }
    if (!hasText && count === 0) throw onlyPictures()
    return parts
  } finally {
    await pdf.loadingTask.destroy()
  }
}

type PageText = { readonly text: string; readonly chars: number }

async function textsOf(pdf: PDFDocumentProxy): Promise<readonly PageText[]> {
  const texts: PageText[] = []
  const all = new DocumentText()
  for (let number = 1; number <= pdf.numPages; number++) {
    const page = await pdf.getPage(number)
    let text = ''
    for (const item of (await page.getTextContent()).items) if ('str' in item) text += item.hasEOL ? `${item.str}\n` : item.str
    page.cleanup()
    all.add(text)
    texts.push({ text, chars: text.replace(/\s+/g, '').length })
  }
  return texts
}

type Looks = { left: number; balance: number }
type PageFacts = { readonly hasText: boolean; readonly canDraw: boolean; readonly looks: Looks }

/** The pictures that a page consists of, and how many others it has. */
type Shown = { readonly shown: readonly (() => Picture)[]; readonly unread: number }

async function shownOn(pdf: PDFDocumentProxy, number: number, { hasText, canDraw, looks }: PageFacts): Promise<Shown> {
  if (looks.left === 0 && (hasText || !canDraw)) return { shown: [], unread: !hasText || looks.balance > 0 ? 1 : 0 }
  looks.left = Math.max(0, looks.left - 1)
  const { pictures, coverage, figures, isDrawn } = await look(pdf, number, hasText)
  const isPicture = hasText ? coverage >= fullCoverage : pictures.length > 0
  looks.balance += isPicture ? 1 : -1
  if (isPicture) return { shown: pictures, unread: 0 }
  return { shown: [], unread: hasText ? figures : Number(isDrawn) }
}

/** How many figures are on a page of text. */
async function figuresOn(pdf: PDFDocumentProxy, number: number, left: { pixels: number; pages: number }): Promise<number> {
  if (left.pixels <= 0 || left.pages <= 0) return 0
  const { figures, pixels } = await look(pdf, number, true)
  left.pixels -= pixels
  left.pages -= 1
  return figures
}

async function look(pdf: PDFDocumentProxy, number: number, withoutShared: boolean): ReturnType<typeof lookAt> {
  const page = await pdf.getPage(number)
  const found = await lookAt(page, { withoutShared })
  page.cleanup()
  return found
}

function onlyPictures(): DocumentProblem {
  return new DocumentProblem('no-text', 'has no text, only pictures of pages: send it as pictures, or recognise its text first')
}

async function openPdf(bytes: Uint8Array): Promise<PDFDocumentProxy> {
  const { getDocumentProxy } = await import('unpdf')
  // pdf.js takes the bytes away from their owner, and refuses Buffers. Images are bytes, not bitmaps of a browser.
  const options = { verbosity: 0, isOffscreenCanvasSupported: false, isImageDecoderSupported: false }
  return getDocumentProxy(new Uint8Array(bytes), options).catch(nameProblem)
}

function nameProblem(error: unknown): never {
  if (!(error instanceof Error)) throw error
  if (error.name === 'PasswordException') throw new DocumentProblem('encrypted', 'is encrypted: remove its password', error)
  throw new DocumentProblem('damaged', `is a damaged PDF: ${error.message}`, error)
}
