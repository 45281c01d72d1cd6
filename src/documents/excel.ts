import { csvLine } from './csv.ts'
import { pictureNote } from './parts.ts'
import { DocumentText } from './problem.ts'
import { relationsOf, requiredText } from './relations.ts'
import { readXml } from './xml.ts'
import type { Zip } from './zip.ts'

/** The last column of a sheet is XFD. */
const maxColumns = 16_384
const dayMs = 86_400_000
/** Days from the first day of a workbook's calendar to 1970. */
const daysTo1970 = { 1900: 25_569, 1904: 24_107 }

/** The sheets of an .xlsx as CSV, each below its name, with dates as dates, and a note where it has pictures or charts. */
export async function readExcel(zip: Zip): Promise<string> {
  const { sheets, firstDay } = await readWorkbook(zip)
  const strings = await sharedStrings(zip)
  const dates = await dateStyles(zip)
  const out = new DocumentText()
  for (const { name, path } of sheets) {
    const xml = await zip.text(path)
    if (xml === undefined) continue
    out.add(`## ${name}\n`)
    writeSheet(xml, { strings, dates, firstDay }, out)
    out.add('\n')
  }
  return out.clean
}

async function readWorkbook(zip: Zip) {
  const relations = await relationsOf(zip, 'xl/workbook.xml')
  const sheets: { readonly name: string; readonly path: string }[] = []
  let firstDay = daysTo1970[1900]
  for (const event of readXml(await requiredText(zip, 'xl/workbook.xml'))) {
    if (event.type !== 'open') continue
    if (event.name === 'workbookPr' && /^(1|true)$/.test(event.attribute('date1904') ?? '')) firstDay = daysTo1970[1904]
    if (event.name !== 'sheet') continue
    const path = relations.get(event.attribute('r:id') ?? '')?.path
    if (path !== undefined) sheets.push({ name: event.attribute('name') ?? '', path })
  }
  return { sheets, firstDay }
}

async function sharedStrings(zip: Zip): Promise<readonly string[]> {
  const strings: string[] = []
  let isText = false
  /** How Japanese is pronounced is not part of the text. */
  let isPhonetic = false
  for (const event of readXml((await zip.text('xl/sharedStrings.xml')) ?? '')) {
    if (event.type === 'text') {
      if (isText && !isPhonetic && strings.length > 0) strings[strings.length - 1] += event.text
    } else if (event.name === 't') isText = event.type === 'open'
    else if (event.name === 'rPh') isPhonetic = event.type === 'open'
    else if (event.name === 'si' && event.type === 'open') strings.push('')
  }
  return strings
}

/** The styles of cells, by index, whose numbers are dates or times. */
async function dateStyles(zip: Zip): Promise<ReadonlySet<string>> {
  const formats = new Map<string, string>()
  const dates = new Set<string>()
  let isCellStyle = false
  let index = 0
  for (const event of readXml((await zip.text('xl/styles.xml')) ?? '')) {
    if (event.type === 'text') continue
    if (event.name === 'cellXfs') isCellStyle = event.type === 'open'
    else if (event.type === 'close') continue
    else if (event.name === 'numFmt') formats.set(event.attribute('numFmtId') ?? '', event.attribute('formatCode') ?? '')
    else if (event.name === 'xf' && isCellStyle) {
      const id = event.attribute('numFmtId') ?? ''
      if (isDateFormat(Number(id), formats.get(id) ?? '')) dates.add(`${index}`)
      index += 1
    }
  }
  return dates
}

function isDateFormat(id: number, code: string): boolean {
  if ((id >= 14 && id <= 22) || (id >= 45 && id <= 47)) return true
  // Colours, conditions and quoted texts have letters, too.
  return /[dmyhs]/i.test(code.replace(/\[[^\]]*\]|"[^"]*"|\\./g, '').replace(/general/gi, ''))
}

type Workbook = { readonly strings: readonly string[]; readonly dates: ReadonlySet<string>; readonly firstDay: number }

function writeSheet(xml: string, book: Workbook, out: DocumentText): void {
  let row: string[] = []
  let cell = { type: '', style: '', column: 0, value: '' }
  let isValue = false
  for (const event of readXml(xml)) {
    if (event.type === 'text') {
      if (isValue) cell.value += event.text
    } else if (event.name === 'v' || event.name === 't') isValue = event.type === 'open'
    else if (event.name === 'row') {
      if (event.type === 'close') out.add(csvLine(row))
      row = []
    } else if (event.name === 'drawing') out.add(event.type === 'open' ? `${pictureNote()}\n` : '')
    else if (event.name === 'c') {
      if (event.type === 'open') {
        const column = columnOf(event.attribute('r')) ?? row.length
        cell = { type: event.attribute('t') ?? '', style: event.attribute('s') ?? '', column, value: '' }
      } else if (cell.column < maxColumns && cell.value !== '') row[cell.column] = shownValue(cell, book)
    }
  }
}

function shownValue(
  { type, style, value }: { readonly type: string; readonly style: string; readonly value: string },
  book: Workbook,
) {
  if (type === 's') return book.strings[Number(value)] ?? ''
  if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE'
  if ((type === '' || type === 'n') && book.dates.has(style)) return dateOf(Number(value), book.firstDay) ?? value
  return value
}

/** Days since the first day of the calendar; the time of midnight, or the day of a time, is left out. */
function dateOf(days: number, firstDay: number): string | undefined {
  const date = new Date(Math.round((days - firstDay) * dayMs))
  if (Number.isNaN(date.getTime())) return undefined
  const [day = '', time = ''] = date.toISOString().split('T')
  if (days >= 0 && days < 1) return time.slice(0, 8)
  return `${day} ${time.slice(0, 8)}`.replace(' 00:00:00', '')
}

/** The index of the column of a reference such as `AB12`. */
function columnOf(reference = ''): number | undefined {
  const letters = /^[A-Z]{1,3}/.exec(reference)?.[0]
  if (letters === undefined) return undefined
  return [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1
}
