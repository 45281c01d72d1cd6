import { readEpub } from './epub.ts'
import { readExcel } from './excel.ts'
import { readOpenDocument } from './open-document.ts'
import { type Draw, saysMore } from './parts.ts'
import { readPdf } from './pdf.ts'
import { readPowerPoint } from './powerpoint.ts'
import { DocumentProblem, type DocumentReason, DocumentText, maxTextChars } from './problem.ts'
import { isPdf, readText } from './text.ts'
import { readWord } from './word.ts'
import { isZip, openZip, type Zip } from './zip.ts'

type DocumentKind = 'text' | 'pdf' | 'docx' | 'xlsx' | 'pptx' | 'odt' | 'ods' | 'odp' | 'epub'

/** Texts and drawn pictures alternate. */
type Found<Drawn> = { readonly kind: DocumentKind; readonly parts: readonly (string | Drawn)[] }

/** `problem` continues "the file …". */
export type UnreadDocument = { readonly reason: DocumentReason; readonly problem: string }

/** The contents of a file, or why there are none. */
export type ReadDocument<Drawn = never> = Found<Drawn> | UnreadDocument

/** Reads a file as text, and with `draw`, also the pictures that are pages of a PDF. Its bytes decide what it is, not its name. */
export async function readDocument<Drawn extends object = never>(
  bytes: Uint8Array,
  draw?: Draw<Drawn>,
): Promise<ReadDocument<Drawn>> {
  try {
    const { kind, parts } = isPdf(bytes) ? { kind: 'pdf' as const, parts: joined(await readPdf(bytes, draw)) } : await read(bytes)
    if (parts.some((part) => typeof part !== 'string' || saysMore(part))) return { kind, parts }
    const problem = parts.some((part) => part !== '') ? 'has no text, only pictures: send them as pictures' : 'has no text'
    return { reason: 'no-text', problem }
  } catch (error) {
    return unread(error)
  }
}

/** Neighbouring texts as one, clean. */
function joined<Drawn>(parts: readonly (string | Drawn)[]): readonly (string | Drawn)[] {
  const out: (string | Drawn)[] = []
  let text = new DocumentText()
  const flush = () => {
    if (text.clean !== '') out.push(text.clean)
    text = new DocumentText()
  }
  for (const part of parts) {
    if (typeof part === 'string') text.add(part)
    else {
      flush()
      out.push(part)
    }
  }
  flush()
  return out
}

/** Why a file could not be read, by the error that this has thrown. */
export function unread(error: unknown): UnreadDocument {
  if (error instanceof DocumentProblem) return { reason: error.reason, problem: error.message }
  const what = error instanceof Error ? error.message : String(error)
  return { reason: 'damaged', problem: `is damaged: ${what}` }
}

async function read(bytes: Uint8Array): Promise<Found<never>> {
  const text = readText(bytes)
  if (text !== undefined) {
    if (text.length <= maxTextChars) return { kind: 'text', parts: [text] }
    throw new DocumentProblem('too-large', `has more than ${maxTextChars} characters of text: send a part of it`)
  }
  if (isCompoundFile(bytes)) throw compoundProblem(bytes)
  if (!isZip(bytes)) throw new DocumentProblem('unknown', `is neither text in UTF-8 nor ${readKinds}`)
  const { kind, text: read } = await readPackage(openZip(bytes))
  return { kind, parts: [read] }
}

const readKinds = 'a PDF, .docx, .xlsx, .pptx, .odt, .ods, .odp or .epub'

async function readPackage(zip: Zip): Promise<{ readonly kind: DocumentKind; readonly text: string }> {
  const has = (name: string) => zip.names.includes(name)
  if (has('word/document.xml')) return { kind: 'docx', text: await readWord(zip) }
  if (has('xl/workbook.xml')) return { kind: 'xlsx', text: await readExcel(zip) }
  if (has('ppt/presentation.xml')) return { kind: 'pptx', text: await readPowerPoint(zip) }
  if (has('META-INF/container.xml')) {
    if (has('META-INF/rights.xml')) throw new DocumentProblem('encrypted', 'is protected: its publisher encrypted it')
    return { kind: 'epub', text: await readEpub(zip) }
  }
  const kind = has('content.xml') ? openDocumentKind((await zip.text('mimetype')) ?? '') : undefined
  if (kind === undefined)
    throw new DocumentProblem('unknown', `is a ZIP file, but not a document: send its files one by one, as ${readKinds}`)
  if (/encryption-data/.test((await zip.text('META-INF/manifest.xml')) ?? ''))
    throw new DocumentProblem('encrypted', 'is encrypted: remove its password')
  return { kind, text: await readOpenDocument(zip) }
}

function openDocumentKind(mimetype: string): DocumentKind | undefined {
  const type = /^application\/vnd\.oasis\.opendocument\.(text|spreadsheet|presentation)/.exec(mimetype)?.[1]
  return type === 'text' ? 'odt' : type === 'spreadsheet' ? 'ods' : type === 'presentation' ? 'odp' : undefined
}

/** The container of Office's formats before 2007, and of encrypted ones after. */
function isCompoundFile(bytes: Uint8Array): boolean {
  return latin(bytes.subarray(0, 8)) === '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'
}

function compoundProblem(bytes: Uint8Array): DocumentProblem {
  // Names of streams are in its directory, in UTF-16.
  const names = new TextDecoder('utf-16le').decode(bytes)
  if (names.includes('EncryptedPackage')) return new DocumentProblem('encrypted', 'is encrypted: remove its password')
  const old = (program: string, older: string, newer: string) =>
    new DocumentProblem('old-office', `is an old ${program} file (.${older}): save it as .${newer}`)
  if (names.includes('WordDocument')) return old('Word', 'doc', 'docx')
  if (names.includes('Workbook') || names.includes('Book\0')) return old('Excel', 'xls', 'xlsx')
  if (names.includes('PowerPoint Document')) return old('PowerPoint', 'ppt', 'pptx')
  return new DocumentProblem('unknown', `is neither text in UTF-8 nor ${readKinds}`)
}

function latin(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes)
}
