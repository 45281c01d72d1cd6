import { expect, test } from 'vitest'
import {
  docxFile,
  epubFile,
  openDocumentFile,
  pptxFile,
  wordParagraph,
  xlsxFile,
} from '../../test/support/documents/office-files.ts'
import { pdfFile, pdfOf } from '../../test/support/documents/pdf-file.ts'
import { zipFile } from '../../test/support/documents/zip-file.ts'
import { readDocument } from './read-document.ts'

const wordStyles =
  '<w:styles xmlns:w="w"><w:style w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style><w:style w:styleId="T"><w:name w:val="Title"/></w:style></w:styles>'

function wordPicture(description: string): string {
  return `<w:r><w:drawing><wp:inline><wp:docPr id="1" descr="${description}"/><pic:pic><a:blip r:embed="rId1"/></pic:pic></wp:inline></w:drawing></w:r>`
}

function odfPicture(description: string): string {
  return `<draw:frame><draw:object/><draw:image/><svg:desc>${description}</svg:desc></draw:frame>`
}

function row(cells: readonly string[]): string {
  return `<w:tr>${cells.map((cell) => `<w:tc>${wordParagraph(cell)}</w:tc>`).join('')}</w:tr>`
}

test.each<[string, Buffer, string, string]>([
  [
    'the headings, lists and tables of a .docx, by the names of its styles',
    docxFile(
      wordParagraph('Report', '<w:pStyle w:val="T"/>') +
        wordParagraph('Sales', '<w:pStyle w:val="berschrift2"/>') +
        wordParagraph('one &amp; two', '<w:numPr/>') +
        `<w:tbl>${row(['a', 'b'])}${row(['1', '2'])}</w:tbl>${wordParagraph('end')}`,
      { 'word/styles.xml': wordStyles },
    ),
    'docx',
    '# Report\n## Sales\n- one & two\n| a | b |\n| 1 | 2 |\n\nend',
  ],
  [
    'a table in a cell of a .docx as one line',
    docxFile(`<w:tbl><w:tr><w:tc><w:tbl>${row(['a', 'b'])}</w:tbl></w:tc><w:tc>${wordParagraph('c')}</w:tc></w:tr></w:tbl>`),
    'docx',
    '| a , b ; | c |',
  ],
  [
    'a text box of a .docx once, insertions, and nothing that was deleted or moved away',
    docxFile(
      `<w:p><w:r><w:t>before</w:t></w:r><w:r><mc:AlternateContent><mc:Choice><w:txbxContent>${wordParagraph('box')}</w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent>${wordParagraph('box')}</w:txbxContent></mc:Fallback></mc:AlternateContent></w:r></w:p>` +
        '<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:ins><w:r><w:t>new</w:t></w:r></w:ins><w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom></w:p>',
    ),
    'docx',
    'box\nbefore\nnew',
  ],
  [
    'the footnotes of a .docx behind its text',
    docxFile('<w:p><w:r><w:t>Fact</w:t><w:footnoteReference w:id="2"/></w:r></w:p>', {
      'word/footnotes.xml':
        '<w:footnotes><w:footnote w:type="separator" w:id="0"><w:p><w:r><w:t>-</w:t></w:r></w:p></w:footnote><w:footnote w:id="2"><w:p><w:r><w:t>Source</w:t></w:r></w:p></w:footnote></w:footnotes>',
    }),
    'docx',
    'Fact[^2]\n\n[^2]: Source',
  ],
  [
    'the cells of an .xlsx as CSV in their columns, with dates and times, texts and truth values',
    xlsxFile(
      '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="inlineStr"><is><t>a, "b"</t></is></c></row><row r="2"/><row r="3"><c r="A3" s="1"><v>46355</v></c><c r="B3" s="1"><v>46355.75</v></c><c r="C3" s="2"><v>0.5</v></c><c r="D3" s="0"><v>46355</v></c><c r="E3" t="b"><v>1</v></c><c r="F3" s="3"><v>3</v></c></row>',
      {
        strings: '<si><r><t>Na</t></r><r><t>me</t></r><rPh><t>xx</t></rPh></si>',
        styles:
          '<numFmts><numFmt numFmtId="164" formatCode="hh:mm"/><numFmt numFmtId="165" formatCode="[Red]&quot;days&quot; 0"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/></cellXfs>',
      },
    ),
    'xlsx',
    '## Sales\nName,,"a, ""b"""\n2026-11-29,2026-11-29 18:00:00,12:00:00,46355,TRUE,3',
  ],
  [
    'the dates of an .xlsx whose calendar begins in 1904',
    xlsxFile('<row><c r="A1" s="0"><v>44893</v></c></row>', {
      workbook: '<workbookPr date1904="1"/>',
      styles: '<cellXfs><xf numFmtId="14"/></cellXfs>',
    }),
    'xlsx',
    '## Sales\n2026-11-29',
  ],
  [
    'the slides of a .pptx in the order in which they are shown, with their notes and without their numbers',
    pptxFile('First', 'Second', 'Say hello'),
    'pptx',
    '## Slide 1\nFirst\nNotes: Say hello\n\n## Slide 2\nSecond',
  ],
  [
    'the headings, lists and tables of an .odt',
    openDocumentFile(
      'text',
      '<text:tracked-changes><text:p>gone</text:p></text:tracked-changes><text:h text:outline-level="2">Sales</text:h><text:list><text:list-item><text:p>one<text:s text:c="2"/>two</text:p></text:list-item></text:list><table:table table:name="T1"><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell><text:p>b</text:p></table:table-cell></table:table-row></table:table>',
    ),
    'odt',
    '## Sales\n- one  two\n| a | b |',
  ],
  [
    'the sheets of an .ods as CSV, with repeated cells and without the empty rest',
    openDocumentFile(
      'spreadsheet',
      '<table:table table:name="Sales"><table:table-row table:number-rows-repeated="2"><table:table-cell table:number-columns-repeated="2"><text:p>x</text:p></table:table-cell><table:table-cell table:number-columns-repeated="16382"/></table:table-row><table:table-row table:number-rows-repeated="1048574"><table:table-cell/></table:table-row></table:table>',
    ),
    'ods',
    '## Sales\nx,x\nx,x',
  ],
  [
    'the slides of an .odp with their notes',
    openDocumentFile(
      'presentation',
      '<draw:page draw:name="Welcome"><text:p>Hello</text:p><presentation:notes><text:p><text:page-number>&lt;number&gt;</text:page-number></text:p><text:p>Say it</text:p></presentation:notes></draw:page>',
    ),
    'odp',
    '## Welcome\nHello\nNotes:\nSay it',
  ],
  [
    'the chapters of an .epub in reading order',
    epubFile(['<h1>One</h1><p>first&nbsp;&mdash; <br/>line</p><script>no</script>', '<h2>Two</h2><ul><li>a</li><li>b</li></ul>']),
    'epub',
    '# One\nfirst —\nline\n\n## Two\n\n- a\n- b',
  ],
  [
    'notes in the places of pictures of a .docx, with what is said of them',
    docxFile(
      `<w:p><w:r><w:t>Sales: </w:t></w:r>${wordPicture('a [bar]\nchart')}</w:p><mc:AlternateContent><mc:Choice><w:p>${wordPicture('')}</w:p></mc:Choice><mc:Fallback><w:p>${wordPicture('again')}</w:p></mc:Fallback></mc:AlternateContent>`,
    ),
    'docx',
    'Sales: [picture, not read: a bar chart]\n[picture, not read]',
  ],
  [
    'notes in the places of pictures, charts and diagrams of a .pptx',
    pptxFile('First', 'Second', 'Say hello', '<p:pic><p:cNvPr descr="a cat"/><a:blip/></p:pic><c:chart/><dgm:relIds/>'),
    'pptx',
    '## Slide 1\nFirst\n[picture, not read: a cat]\n[picture, not read: a cat]\n[picture, not read: a cat]\nNotes: Say hello\n\n## Slide 2\nSecond',
  ],
  [
    'a note where a sheet of an .xlsx has pictures or charts',
    xlsxFile('<row><c><v>1</v></c></row>', { after: '<drawing r:id="rId1"/>' }),
    'xlsx',
    '## Sales\n1\n[picture, not read]',
  ],
  [
    'notes in the places of pictures of an .odt',
    openDocumentFile(
      'text',
      `<text:p>before ${odfPicture('a cat')} after</text:p><table:table><table:table-row><table:table-cell><text:p>${odfPicture('')}</text:p></table:table-cell></table:table-row></table:table>`,
    ),
    'odt',
    'before [picture, not read: a cat] after\n| [picture, not read] |',
  ],
  [
    'notes in the places of pictures of an .odp',
    openDocumentFile('presentation', `<draw:page draw:name="Welcome"><text:p>Hello</text:p>${odfPicture('a cat')}</draw:page>`),
    'odp',
    '## Welcome\nHello\n[picture, not read: a cat]',
  ],
  [
    'notes in the places of pictures of an .ods',
    openDocumentFile(
      'spreadsheet',
      `<table:table table:name="Sales"><table:shapes>${odfPicture('a cat')}</table:shapes><table:table-row><table:table-cell><text:p>x</text:p></table:table-cell></table:table-row></table:table>`,
    ),
    'ods',
    '## Sales\n[picture, not read: a cat]\nx',
  ],
  [
    'notes in the places of pictures of an .epub',
    epubFile(['<p>before <img src="a.png" alt="a cat"/> after</p>', '<svg><image href="b.png"/></svg>']),
    'epub',
    'before [picture, not read: a cat] after\n\n[picture, not read]',
  ],
  ['the pages of a PDF', pdfFile(['Hello (world)', 'again']), 'pdf', '## Page 1\nHello (world)\n\n## Page 2\nagain'],
  ['a PDF of one page without its number', pdfFile(['Hello']), 'pdf', 'Hello'],
  ['any text in UTF-8', Buffer.from('FROM scratch\n# grüße'), 'text', 'FROM scratch\n# grüße'],
  ['a text without its byte order mark', Buffer.from('\ufeffa,b'), 'text', 'a,b'],
  ['a text in UTF-16, as Windows writes it', Buffer.from('\ufeffgrüße', 'utf16le'), 'text', 'grüße'],
])('reads %s', async (_, bytes, kind, text) => {
  expect(await readDocument(bytes)).toEqual({ kind, parts: [text] })
})

const compound = Buffer.from('d0cf11e0a1b11ae1', 'hex')
const named = (stream: string) => Buffer.concat([compound, Buffer.alloc(504), Buffer.from(`${stream}\0`, 'utf16le')])
const declared = '<!DOCTYPE w [<!ENTITY a "b">]><w:document/>'

test.each<[string, Buffer, string, RegExp]>([
  ['a text in another encoding', Buffer.from('gr\xfc\xdfe', 'latin1'), 'unknown', /neither text in UTF-8 nor a PDF, \.docx/],
  ['a program', Buffer.from('\x7fELF\0\0\0'), 'unknown', /neither text/],
  ['a ZIP file of something else', zipFile({ 'a.txt': 'a' }), 'unknown', /is a ZIP file/],
  ['an old Word file', named('WordDocument'), 'old-office', /old Word file \(\.doc\): save it as \.docx/],
  ['an old Excel file', named('Workbook'), 'old-office', /save it as \.xlsx/],
  ['an old PowerPoint file', named('PowerPoint Document'), 'old-office', /save it as \.pptx/],
  ['an encrypted .docx', named('EncryptedPackage'), 'encrypted', /encrypted: remove its password/],
  ['an encrypted ZIP file', zipFile({ 'word/document.xml': 'x' }, { flags: 1 }), 'encrypted', /encrypted/],
  ['an encrypted .odt', openDocumentFile('text', '', '<manifest:encryption-data/>'), 'encrypted', /encrypted/],
  ['a protected book', epubFile(['', ''], { 'META-INF/rights.xml': '<rights/>' }), 'encrypted', /protected/],
  ['an incomplete .docx', docxFile(wordParagraph('a')).subarray(0, 200), 'damaged', /damaged: its ZIP directory is missing/],
  ['a .docx whose part is damaged', docxFile(wordParagraph('a')).fill(0xff, 100, 120), 'damaged', /damaged/],
  ['a .docx that declares entities', zipFile({ 'word/document.xml': declared }), 'damaged', /declares XML entities/],
  ['an .xlsx without sheets', zipFile({ 'xl/workbook.xml': '' }), 'no-text', /no text/],
  ['a .docx that unpacks to too much', docxFile(' '.repeat(100_000_001)), 'too-large', /unpacks to more than 100 MB/],
  ['an .ods that repeats too much', repeatedCells(), 'too-large', /more than 10000000 characters/],
  ['a .docx of pictures', docxFile(`<w:p>${wordPicture('a cat')}</w:p>`), 'no-text', /only pictures: send them as pictures/],
  ['a damaged PDF', Buffer.from('%PDF-1.7\n\0\0garbage'), 'damaged', /is a damaged PDF: Invalid PDF/],
  ['a PDF of pictures', pdfOf([Buffer.from('0 0 m 10 10 l S')]), 'no-text', /only pictures of pages/],
])('names the reason why %s is not read', async (_, bytes, reason, problem) => {
  expect(await readDocument(bytes)).toEqual({ reason, problem: expect.stringMatching(problem) })
})

function repeatedCells(): Buffer {
  const cell = `<table:table-cell table:number-columns-repeated="1000"><text:p>${'x'.repeat(100)}</text:p></table:table-cell>`
  return openDocumentFile(
    'spreadsheet',
    `<table:table><table:table-row table:number-rows-repeated="1000">${cell}</table:table-row></table:table>`,
  )
}

test.each<[string, () => Buffer, number]>([
  ['60,000 paragraphs', () => docxFile(wordParagraph('a').repeat(60_000)), 60_000],
  ['paragraphs nested 50,000 deep', () => docxFile('<w:p>'.repeat(50_000) + wordParagraph('a')), 1],
  ['100,000 rows', () => xlsxFile('<row><c><v>1</v></c></row>'.repeat(100_000)), 100_001],
  ['a million spaces that end no line', () => docxFile(wordParagraph(`a${' '.repeat(1_000_000)}b`)), 1],
  [
    'a million empty cells',
    () =>
      openDocumentFile(
        'text',
        `<table:table><table:table-row>${'<table:table-cell/>'.repeat(1_000_000)}</table:table-row></table:table>`,
      ),
    1,
  ],
])('reads %s in linear time', async (_, make, lines) => {
  const read = await readDocument(make())
  expect('parts' in read && read.parts.join('').split('\n')).toHaveLength(lines)
})
