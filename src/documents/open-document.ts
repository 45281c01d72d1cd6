import { csvLine } from './csv.ts'
import { pictureNote } from './parts.ts'
import { DocumentText } from './problem.ts'
import { requiredText } from './relations.ts'
import { readXml, type XmlEvent } from './xml.ts'
import type { Zip } from './zip.ts'

/** A longer run of equal cells or rows fills a sheet to its end, and is written once. */
const maxRepeats = 1000
const maxSpaces = 100

/** The text of an .odt, .ods or .odp: headings, lists and tables as Markdown, sheets as CSV, slides below their names. */
export async function readOpenDocument(zip: Zip): Promise<string> {
  const out = new DocumentText()
  const writer = new Writer(out)
  for (const event of readXml(await requiredText(zip, 'content.xml'))) writer.take(event)
  return out.clean
}

/** What is not part of the text: deletions that are tracked, comments, the number of a page. */
const skipped = new Set(['tracked-changes', 'annotation', 'page-number', 'forms'])

class Writer {
  readonly #out: DocumentText
  #skipDepth = 0
  #paragraphs = 0
  #isSheet = false
  #cells = 0
  /** The frame that is open: whether it has a picture, and what it says of it. */
  #frame = { hasPicture: false, isSaid: false, said: '' }
  #line = ''
  /** The row of each open table, and how often its present cell and the row itself are repeated. */
  readonly #tables: { row: string[]; cells: number; rows: number }[] = []

  constructor(out: DocumentText) {
    this.#out = out
  }

  take(event: XmlEvent): void {
    if (event.type !== 'text' && skipped.has(event.name)) this.#skipDepth += event.type === 'open' ? 1 : -1
    if (this.#skipDepth > 0) return
    if (event.type === 'text') {
      if (this.#frame.isSaid) this.#frame.said += event.text
      else if (this.#paragraphs > 0) this.#line += event.text
    } else if (event.type === 'open') this.#open(event)
    else this.#close(event.name)
  }

  #open({ name, attribute }: Extract<XmlEvent, { type: 'open' }>): void {
    switch (name) {
      case 'spreadsheet':
        this.#isSheet = true
        break
      case 'h':
        this.#paragraphs += 1
        this.#line += `${'#'.repeat(Math.min(Number(attribute('text:outline-level') ?? 1), 6))} `
        break
      case 'p':
        this.#paragraphs += 1
        break
      case 'list-item':
        this.#line += '- '
        break
      case 's':
        this.#line += ' '.repeat(Math.min(Number(attribute('text:c') ?? 1), maxSpaces))
        break
      case 'tab':
        this.#line += '\t'
        break
      case 'line-break':
        this.#line += '\n'
        break
      case 'notes':
        this.#line += 'Notes: '
        break
      case 'page':
        this.#out.add(`\n## ${attribute('draw:name') ?? 'Slide'}\n`)
        break
      case 'frame':
        this.#frame = { hasPicture: false, isSaid: false, said: '' }
        break
      case 'image':
      case 'object':
        this.#frame.hasPicture = true
        break
      case 'desc':
        this.#frame.isSaid = true
        break
      case 'table':
        if (this.#isSheet) this.#out.add(`\n## ${attribute('table:name') ?? ''}\n`)
        this.#tables.push({ row: [], cells: 1, rows: 1 })
        break
      case 'table-row': {
        const table = this.#tables.at(-1)
        if (table !== undefined) Object.assign(table, { row: [], rows: repeats(attribute('table:number-rows-repeated')) })
        break
      }
      case 'table-cell':
      case 'covered-table-cell': {
        const table = this.#tables.at(-1)
        if (table === undefined) break
        this.#cells += 1
        table.cells = repeats(attribute('table:number-columns-repeated'))
        this.#line = ''
      }
    }
  }

  #close(name: string): void {
    const table = this.#tables.at(-1)
    switch (name) {
      case 'h':
      case 'p':
        this.#paragraphs -= 1
        if (table === undefined) this.#flush()
        else this.#line += this.#isSheet ? '\n' : ' '
        break
      case 'desc':
        this.#frame.isSaid = false
        break
      case 'frame':
        this.#closeFrame()
        break
      case 'table-cell':
      case 'covered-table-cell':
        this.#cells -= 1
        if (table !== undefined) for (let count = 0; count < table.cells; count++) table.row.push(this.#line.trim())
        this.#line = ''
        break
      case 'table-row':
        if (table !== undefined) this.#writeRow(table)
        break
      case 'table':
        this.#tables.pop()
        if (this.#tables.length === 0) this.#out.add('\n')
    }
  }

  #closeFrame(): void {
    if (this.#frame.hasPicture) this.#line += pictureNote(this.#frame.said)
    this.#frame.hasPicture = false
    if (this.#paragraphs === 0 && this.#cells === 0) this.#flush()
  }

  #flush(): void {
    this.#out.add(`${this.#line}\n`)
    this.#line = ''
  }

  #writeRow({ row, rows }: { readonly row: readonly string[]; readonly rows: number }): void {
    const line = this.#isSheet ? csvLine(row) : `| ${row.join(' | ')} |\n`
    for (let count = 0; count < (line === '' ? 0 : rows); count++) this.#out.add(line)
  }
}

function repeats(number: string | undefined): number {
  const wanted = Number(number ?? 1)
  return wanted > maxRepeats ? 1 : wanted
}
