import { pictureNote } from './parts.ts'
import { DocumentText } from './problem.ts'
import { requiredText } from './relations.ts'
import { readXml, type XmlElement } from './xml.ts'
import type { Zip } from './zip.ts'

/** The text of a .docx: headings, lists and tables as Markdown, with its footnotes. Pictures leave notes; headers, footers and comments are left out. */
export async function readWord(zip: Zip): Promise<string> {
  const levels = await headingLevels(zip)
  const out = new DocumentText()
  writeBody(await requiredText(zip, 'word/document.xml'), levels, out)
  for (const kind of ['footnote', 'endnote'] as const) {
    const xml = await zip.text(`word/${kind}s.xml`)
    if (xml !== undefined) writeNotes(xml, kind, out)
  }
  return out.clean
}

/** The level of each style that is a heading; the names of styles are English in files of every language. */
async function headingLevels(zip: Zip): Promise<ReadonlyMap<string, number>> {
  const levels = new Map<string, number>()
  let style = ''
  for (const event of readXml((await zip.text('word/styles.xml')) ?? '')) {
    if (event.type !== 'open') continue
    if (event.name === 'style') style = event.attribute('w:styleId') ?? ''
    else if (event.name === 'name') {
      const name = event.attribute('w:val') ?? ''
      const level = /^heading (\d)$/i.exec(name)?.[1]
      if (level !== undefined) levels.set(style, Math.min(Number(level), 6))
      else if (/^title$/i.test(name)) levels.set(style, 1)
    }
  }
  return levels
}

/** What is not in the text as it reads now: a text box repeated for older programs, and where moved text was. */
const skipped = new Set(['Fallback', 'moveFrom'])

function writeBody(xml: string, levels: ReadonlyMap<string, number>, out: DocumentText): void {
  const body = new WordBody(levels, out)
  let skipDepth = 0
  let isText = false
  for (const event of readXml(xml)) {
    if (event.type !== 'text' && skipped.has(event.name)) skipDepth += event.type === 'open' ? 1 : -1
    if (skipDepth > 0) continue
    if (event.type === 'text') {
      if (isText) body.write(event.text)
    } else if (event.name === 't') isText = event.type === 'open'
    else if (event.type === 'open') body.open(event)
    else body.close(event.name)
  }
}

/** The text of the elements that open and close. */
class WordBody {
  /** The paragraphs that are open: a text box is inside one. */
  readonly #paragraphs: { line: string; head: string }[] = []
  /** The cells so far of each open table's row. */
  readonly #rows: number[] = []
  readonly #levels: ReadonlyMap<string, number>
  readonly #out: DocumentText
  #description: string | undefined

  constructor(levels: ReadonlyMap<string, number>, out: DocumentText) {
    this.#levels = levels
    this.#out = out
  }

  write(text: string): void {
    const paragraph = this.#paragraphs.at(-1)
    if (paragraph !== undefined) paragraph.line += text
  }

  open({ name, attribute }: XmlElement): void {
    switch (name) {
      case 'p':
        this.#paragraphs.push({ line: '', head: '' })
        break
      case 'pStyle':
        this.#startWith(this.#headOf(attribute('w:val') ?? ''))
        break
      case 'numPr':
        if (this.#paragraphs.at(-1)?.head === '') this.#startWith('- ')
        break
      case 'tab':
        this.write('\t')
        break
      case 'br':
      case 'cr':
        this.write('\n')
        break
      case 'noBreakHyphen':
        this.write('-')
        break
      case 'footnoteReference':
      case 'endnoteReference':
        this.write(noteMark(name.slice(0, -'Reference'.length), attribute('w:id')))
        break
      case 'docPr':
        this.#description = attribute('descr')
        break
      case 'blip':
      case 'imagedata':
      case 'chart':
        this.write(pictureNote(this.#description))
        break
      case 'tbl':
        this.#rows.push(0)
        break
      case 'tr':
        if (this.#rows.length > 0) this.#rows[this.#rows.length - 1] = 0
        break
      case 'tc':
        this.#openCell()
    }
  }

  close(name: string): void {
    if (name === 'p') {
      const { head = '', line = '' } = this.#paragraphs.pop() ?? {}
      this.#out.add(line === '' ? '' : head + line)
      this.#out.add(this.#rows.length > 0 ? ' ' : '\n')
    } else if (name === 'tr') this.#out.add(this.#rows.length > 1 ? '; ' : '|\n')
    else if (name === 'tbl') {
      this.#rows.pop()
      if (this.#rows.length === 0) this.#out.add('\n')
    }
  }

  #startWith(head: string): void {
    const paragraph = this.#paragraphs.at(-1)
    if (paragraph !== undefined) paragraph.head = head
  }

  #headOf(style: string): string {
    const level = this.#levels.get(style)
    if (level !== undefined) return `${'#'.repeat(level)} `
    return style.startsWith('List') ? '- ' : ''
  }

  /** A table in a table is one line. */
  #openCell(): void {
    const cells = this.#rows.pop() ?? 0
    this.#out.add(this.#rows.length === 0 ? '| ' : cells === 0 ? '' : ', ')
    this.#rows.push(cells + 1)
  }
}

function writeNotes(xml: string, kind: 'footnote' | 'endnote', out: DocumentText): void {
  let isText = false
  let isNote = false
  for (const event of readXml(xml)) {
    if (event.type === 'text') {
      if (isText && isNote) out.add(event.text)
    } else if (event.name === 't') isText = event.type === 'open'
    else if (event.name === kind) {
      // Those with a type are the lines above notes.
      isNote = event.type === 'open' && event.attribute('w:type') === undefined
      if (isNote && event.type === 'open') out.add(`\n${noteMark(kind, event.attribute('w:id'))}: `)
    }
  }
  out.add('\n')
}

/** Footnotes and endnotes are numbered apart. */
function noteMark(kind: string, id = ''): string {
  return `[^${kind === 'endnote' ? 'e' : ''}${id}]`
}
