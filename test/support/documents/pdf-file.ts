import { deflateSync } from 'node:zlib'

/** A PDF with a page for each text. */
export function pdfFile(pages: readonly string[]): Buffer {
  return pdfOf(pages.map((text) => Buffer.from(shownText(text))))
}

function shownText(text: string): string {
  const lines = text.split('\n').map((line) => `(${line.replace(/[()\\]/g, '\\$&')}) Tj 0 -14 Td`)
  return `BT /F1 12 Tf 72 720 Td ${lines.join(' ')} ET`
}

/** A PDF with a page for each stream of operators. `trailer` is added to its own. */
export function pdfOf(streams: readonly Buffer[], trailer = ''): Buffer {
  const objects: Buffer[] = [
    Buffer.from('<< /Type /Catalog /Pages 2 0 R >>'),
    Buffer.from(
      `<< /Type /Pages /Count ${streams.length} /Kids [${streams.map((_, page) => `${4 + page * 2} 0 R`).join(' ')}] >>`,
    ),
    Buffer.from('<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>'),
  ]
  for (const [page, operators] of streams.entries()) {
    const resources = '/Resources << /Font << /F1 3 0 R >> >>'
    objects.push(
      Buffer.from(`<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${5 + page * 2} 0 R ${resources} >>`),
      stream('', operators),
    )
  }
  return written(objects, trailer)
}

/** A picture on a page: `dictionary` are its entries besides size and length. */
export type ScannedPage = {
  readonly width: number
  readonly height: number
  readonly dictionary: string
  readonly data: Buffer<ArrayBuffer>
  /** Degrees clockwise. */
  readonly rotate?: number
  /** The share of the page's height that it takes; absent: 1. */
  readonly share?: number
  readonly text?: string
}

/** A PDF as scanners write it: a picture on each page, and text only where it is given. */
export function scannedPdf(pages: readonly ScannedPage[]): Buffer {
  const objects = [
    Buffer.from('<< /Type /Catalog /Pages 2 0 R >>'),
    Buffer.from(`<< /Type /Pages /Count ${pages.length} /Kids [${pages.map((_, page) => `${3 + page * 3} 0 R`).join(' ')}] >>`),
  ]
  for (const [page, { width, height, dictionary, data, rotate = 0, share = 1, text = '' }] of pages.entries()) {
    const [contents, image] = [4 + page * 3, 5 + page * 3]
    const resources = `/Resources << /XObject << /Im ${image} 0 R >> /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>`
    objects.push(
      Buffer.from(
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Rotate ${rotate} /Contents ${contents} 0 R ${resources} >>`,
      ),
      stream('', Buffer.from(`q 612 0 0 ${792 * share} 0 0 cm /Im Do Q ${text === '' ? '' : shownText(text)}`)),
      stream(`/Type /XObject /Subtype /Image /Width ${width} /Height ${height} ${dictionary}`, data),
    )
  }
  return written(objects)
}

function stream(dictionary: string, content: Buffer): Buffer<ArrayBuffer> {
  const packed = deflateSync(content, { level: 1 })
  const head = Buffer.from(`<< /Length ${packed.length} /Filter /FlateDecode ${dictionary} >>\nstream\n`)
  return Buffer.concat([head, packed, Buffer.from('\nendstream')])
}

function written(objects: readonly Buffer[], trailer = ''): Buffer {
  const parts = [Buffer.from('%PDF-1.7\n')]
  const places: number[] = []
  let at = parts[0]?.length ?? 0
  for (const [index, object] of objects.entries()) {
    const part = Buffer.concat([Buffer.from(`${index + 1} 0 obj\n`), object, Buffer.from('\nendobj\n')])
    places.push(at)
    at += part.length
    parts.push(part)
  }
  const rows = places.map((place) => `${`${place}`.padStart(10, '0')} 00000 n \n`)
  const table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${rows.join('')}`
  parts.push(Buffer.from(`${table}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R ${trailer} >>\nstartxref\n${at}\n%%EOF\n`))
  return Buffer.concat(parts)
}
