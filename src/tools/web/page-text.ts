import { startOf } from '../../base/start-of.ts'

/** The kind of a page; undefined for anything but text, such as a PDF or a picture. */
export function pageKind(contentType: string | undefined, bytes: Buffer): 'html' | 'text' | undefined {
  const type = contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (type === 'text/html' || type === 'application/xhtml+xml') return 'html'
  if (/^text\/|[/+](json|xml|yaml|javascript|x-ndjson)$/.test(type)) return 'text'
  if (type !== '' && type !== 'application/octet-stream') return undefined
  const start = bytes.toString('latin1', 0, 1024)
  if (start.includes('\0')) return undefined
  return /<(!doctype html|html|head|body)[\s>]/i.test(start) ? 'html' : 'text'
}

/** The text of a page in its declared encoding: by its first bytes, its header or its `meta`; otherwise UTF-8. */
export function decodePage(contentType: string | undefined, bytes: Buffer): string {
  const inHeader = /charset\s*=\s*["']?([\w:.-]+)/i.exec(contentType ?? '')?.[1]
  const inMeta = /<meta[^>]{0,200}?charset\s*=\s*["']?([\w:.-]+)/i.exec(bytes.toString('latin1', 0, 2048))?.[1]
  return decode(byteOrder(bytes) ?? inHeader ?? inMeta ?? 'utf-8', bytes)
}

function byteOrder(bytes: Buffer): string | undefined {
  const [first, second, third] = bytes
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8'
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  return first === 0xfe && second === 0xff ? 'utf-16be' : undefined
}

/** An unknown label counts as missing. */
function decode(label: string, bytes: Buffer): string {
  try {
    return new TextDecoder(label).decode(bytes)
  } catch {
    return new TextDecoder().decode(bytes)
  }
}

/** The start of a text, with a note about the rest. */
export function capped(text: string, maxLength: number, isTruncated = false): string {
  if (text.length <= maxLength) return isTruncated ? `${text}\n\n(The page is longer; this is its beginning.)` : text
  const start = startOf(text, maxLength)
  return `${start}\n\n(The page is longer; these are its first ${start.length} characters.)`
}
