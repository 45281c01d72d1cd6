import { pictureNote } from './parts.ts'
import { DocumentText } from './problem.ts'
import { relationsOf, requiredText } from './relations.ts'
import { readXml } from './xml.ts'
import type { Zip } from './zip.ts'

/** The slides of a .pptx in the order in which they are shown, each with its notes. */
export async function readPowerPoint(zip: Zip): Promise<string> {
  const relations = await relationsOf(zip, 'ppt/presentation.xml')
  const out = new DocumentText()
  let number = 0
  for (const event of readXml(await requiredText(zip, 'ppt/presentation.xml'))) {
    if (event.type !== 'open' || event.name !== 'sldId') continue
    const path = relations.get(event.attribute('r:id') ?? '')?.path
    const slide = path === undefined ? undefined : await zip.text(path)
    if (path === undefined || slide === undefined) continue
    number += 1
    out.add(`## Slide ${number}\n`)
    writeShapes(slide, out)
    await writeNotes(zip, path, out)
    out.add('\n')
  }
  return out.clean
}

async function writeNotes(zip: Zip, slide: string, out: DocumentText): Promise<void> {
  for (const { type, path } of (await relationsOf(zip, slide)).values()) {
    const notes = type.endsWith('/notesSlide') ? await zip.text(path) : undefined
    if (notes === undefined) continue
    const text = new DocumentText()
    writeShapes(notes, text)
    if (text.clean !== '') out.add(`Notes: ${text.clean}\n`)
  }
}

/** The paragraphs of all shapes, and notes for pictures, charts and diagrams; the rows of tables are lines. */
function writeShapes(xml: string, out: DocumentText): void {
  let isText = false
  let isCell = false
  /** The number of the slide, its date. */
  let isField = false
  let skipDepth = 0
  let description: string | undefined
  for (const event of readXml(xml)) {
    // What older programs show instead.
    if (event.type !== 'text' && event.name === 'Fallback') skipDepth += event.type === 'open' ? 1 : -1
    if (skipDepth > 0) continue
    if (event.type === 'text') {
      if (isText && !isField) out.add(event.text)
      continue
    }
    const isOpen = event.type === 'open'
    if (event.name === 't') isText = isOpen
    else if (event.name === 'fld') isField = isOpen
    else if (event.name === 'tc') isCell = isOpen
    if (event.type === 'close') out.add(textAtEnd(event.name, isCell, description))
    else if (event.name === 'cNvPr') description = event.attribute('descr')
    else out.add(textAtStart(event.name, description))
  }
}

function textAtStart(name: string, description: string | undefined): string {
  if (name === 'chart' || name === 'relIds') return `${pictureNote(description)}\n`
  if (name === 'br') return '\n'
  return name === 'tc' ? '| ' : ''
}

function textAtEnd(name: string, isCell: boolean, description: string | undefined): string {
  if (name === 'pic') return `${pictureNote(description)}\n`
  if (name === 'p') return isCell ? ' ' : '\n'
  return name === 'tr' ? '|\n' : ''
}
