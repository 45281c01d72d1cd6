import type { PDFDocumentProxy } from 'unpdf/pdfjs'
import { DocumentProblem, DocumentText } from './problem.ts'

/** The text of a PDF, page by page. */
export async function readPdf(bytes: Uint8Array): Promise<string> {
  const pdf = await openPdf(bytes)
  const out = new DocumentText()
  let hasText = false
  try {
    for (let number = 1; number <= pdf.numPages; number++) {
      const page = await pdf.getPage(number)
      const { items } = await page.getTextContent()
      if (pdf.numPages > 1) out.add(`## Page ${number}\n`)
      for (const item of items) {
        if (!('str' in item)) continue
        if (item.str.trim() !== '') hasText = true
        out.add(item.hasEOL ? `${item.str}\n` : item.str)
      }
      out.add('\n\n')
      page.cleanup()
    }
  } finally {
    await pdf.loadingTask.destroy()
  }
  if (!hasText)
    throw new DocumentProblem('no-text', 'has no text, only pictures of pages: send it as pictures, or recognise its text first')
  return out.clean
}

/** Throws `DocumentProblem`. */
export async function openPdf(bytes: Uint8Array): Promise<PDFDocumentProxy> {
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
