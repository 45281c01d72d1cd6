import { zipFile } from './zip-file.ts'

const word = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
const relations = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const office = 'xmlns:office="o" xmlns:text="t" xmlns:table="b" xmlns:draw="d"'

/** A .docx with this body. */
export function docxFile(body: string, others: Record<string, string> = {}): Buffer {
  const document = `<?xml version="1.0"?><w:document ${word}><w:body>${body}</w:body></w:document>`
  return zipFile({ '[Content_Types].xml': '<Types/>', 'word/document.xml': document, ...others })
}

/** A paragraph of a .docx. */
export function wordParagraph(text: string, properties = ''): string {
  return `<w:p><w:pPr>${properties}</w:pPr><w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`
}

/** An .xlsx with one sheet named Sales, of these rows of cells. */
export function xlsxFile(rows: string, { workbook = '', strings = '', styles = '', after = '' } = {}): Buffer {
  return zipFile({
    'xl/workbook.xml': `<workbook xmlns:r="r">${workbook}<sheets><sheet name="Sales" sheetId="1" r:id="rId1"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relationsFile([['rId1', 'worksheet', '/xl/worksheets/sheet1.xml']]),
    'xl/sharedStrings.xml': `<sst>${strings}</sst>`,
    'xl/styles.xml': `<styleSheet>${styles}</styleSheet>`,
    'xl/worksheets/sheet1.xml': `<worksheet><sheetData>${rows}</sheetData>${after}</worksheet>`,
  })
}

/** A .pptx whose slides are stored in another order than they are shown. `shapes`: others on the first one. */
export function pptxFile(first: string, second: string, notes: string, shapes = ''): Buffer {
  return zipFile({
    'ppt/presentation.xml':
      '<p:presentation xmlns:p="p" xmlns:r="r"><p:sldIdLst><p:sldId id="1" r:id="rId2"/><p:sldId id="2" r:id="rId1"/></p:sldIdLst></p:presentation>',
    'ppt/_rels/presentation.xml.rels': relationsFile([
      ['rId1', 'slide', 'slides/slide1.xml'],
      ['rId2', 'slide', 'slides/slide2.xml'],
    ]),
    'ppt/slides/slide1.xml': shape(second),
    'ppt/slides/slide2.xml': shape(first, shapes),
    'ppt/slides/_rels/slide2.xml.rels': relationsFile([['rId1', 'notesSlide', '../notesSlides/notesSlide1.xml']]),
    'ppt/notesSlides/notesSlide1.xml': shape(notes),
  })
}

function shape(text: string, others = ''): string {
  return `<p:sld xmlns:p="p" xmlns:a="a"><p:sp><a:p><a:r><a:t>${text}</a:t></a:r><a:fld><a:t>7</a:t></a:fld></a:p></p:sp>${others}</p:sld>`
}

function relationsFile(rows: readonly (readonly [string, string, string])[]): string {
  const list = rows.map(([id, type, target]) => `<Relationship Id="${id}" Type="${relations}/${type}" Target="${target}"/>`)
  return `<Relationships>${list.join('')}</Relationships>`
}

/** An .odt, .ods or .odp with this body. */
export function openDocumentFile(type: 'text' | 'spreadsheet' | 'presentation', body: string, manifest = ''): Buffer {
  return zipFile({
    mimetype: `application/vnd.oasis.opendocument.${type}`,
    'META-INF/manifest.xml': `<manifest>${manifest}</manifest>`,
    'content.xml': `<office:document ${office}><office:body><office:${type}>${body}</office:${type}></office:body></office:document>`,
  })
}

/** A book whose chapters are listed in another order than they are read. */
export function epubFile(chapters: readonly [string, string], others: Record<string, string> = {}): Buffer {
  return zipFile({
    mimetype: 'application/epub+zip',
    'META-INF/container.xml': '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
    'OEBPS/book.opf':
      '<package><manifest><item id="b" href="text/b%20b.xhtml"/><item id="a" href="text/a.xhtml"/></manifest><spine><itemref idref="a"/><itemref idref="b"/></spine></package>',
    'OEBPS/text/a.xhtml': xhtml(chapters[0]),
    'OEBPS/text/b b.xhtml': xhtml(chapters[1]),
    ...others,
  })
}

function xhtml(body: string): string {
  return `<!DOCTYPE html><html><head><title>not read</title></head><body>${body}</body></html>`
}
