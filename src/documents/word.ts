import { pictureNote } from './parts.ts'
import { DocumentText } from './problem.ts'
import { requiredText } from './relations.ts'
import { readXml } from './xml.ts'
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
  let skipDepth = 0
  let isText = false
  let description: string | undefined
  /** The paragraphs that are open: a text box is inside one. */
  const paragraphs: { line: string; head: string }[] = []
  /** The cells so far of each open table's row. */
  const rows: number[] = []
  const write = (text: string) => {
    const paragraph = paragraphs.at(-1)
    if (paragraph !== undefined) paragraph.line += text
  }
  for (const event of readXml(xml)) {
    if (event.type !== 'text' && skipped.has(event.name)) skipDepth += event.type === 'open' ? 1 : -1
    if (skipDepth > 0) continue
    if (event.type === 'text') {
      if (isText) write(event.text)
    } else if (event.name === 't') isText = event.type === 'open'
    else if (event.type === 'close') {
      if (event.name === 'p') {
        const { head = '', line = '' } = paragraphs.pop() ?? {}
        out.add(line === '' ? '' : head + line)
        out.add(rows.length > 0 ? ' ' : '\n')
      } else if (event.name === 'tr') out.add(rows.length > 1 ? '; ' : '|\n')
      else if (event.name === 'tbl') {
        rows.pop()
        if (rows.length === 0) out.add('\n')
      }
    } else {
      const paragraph = paragraphs.at(-1)
      switch (event.name) {
        case 'p':
          paragraphs.push({ line: '', head: '' })
          break
        case 'pStyle': {
          const style = event.attribute('w:val') ?? ''
          const level = levels.get(style)
          if (paragraph !== undefined)
            paragraph.head = level !== undefined ? `${'#'.repeat(level)} ` : /^List/.test(style) ? '- ' : ''
          break
        }
        case 'numPr':
          if (paragraph !== undefined && paragraph.head === '') paragraph.head = '- '
          break
        case 'tab':
          write('\t')
          break
        case 'br':
        case 'cr':
          write('\n')
          break
        case 'noBreakHyphen':
          write('-')
          break
        case 'footnoteReference':
        case 'endnoteReference':
          write(noteMark(event.name.slice(0, -'Reference'.length), event.attribute('w:id')))
          break
        case 'docPr':
          description = event.attribute('descr')
          break
        case 'blip':
        case 'imagedata':
        case 'chart':
          write(pictureNote(description))
          break
        case 'tbl':
          rows.push(0)
          break
        case 'tr':
          if (rows.length > 0) rows[rows.length - 1] = 0
          break
        case 'tc': {
          const cells = rows.pop() ?? 0
          // A table in a table is one line.
          out.add(rows.length === 0 ? '| ' : cells === 0 ? '' : ', ')
          rows.push(cells + 1)
        }
      }
    }
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
