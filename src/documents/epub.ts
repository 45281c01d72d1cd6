import { pictureNote } from './parts.ts'
import { DocumentText } from './problem.ts'
import { requiredText, resolvePath } from './relations.ts'
import { readXml } from './xml.ts'
import type { Zip } from './zip.ts'

/** The chapters of a book, in reading order. */
export async function readEpub(zip: Zip): Promise<string> {
  const packagePath = await packageOf(zip)
  const folder = packagePath.slice(0, packagePath.lastIndexOf('/') + 1)
  const items = new Map<string, string>()
  const out = new DocumentText()
  for (const event of readXml(await requiredText(zip, packagePath))) {
    if (event.type !== 'open') continue
    if (event.name === 'item') items.set(event.attribute('id') ?? '', event.attribute('href') ?? '')
    else if (event.name === 'itemref') {
      const path = items.get(event.attribute('idref') ?? '')
      const chapter = path === undefined ? undefined : await zip.text(resolvePath(folder, decodeURIComponent(path)))
      if (chapter !== undefined) writeChapter(chapter, out)
    }
  }
  return out.clean
}

async function packageOf(zip: Zip): Promise<string> {
  for (const event of readXml(await requiredText(zip, 'META-INF/container.xml'))) {
    if (event.type === 'open' && event.name === 'rootfile') return event.attribute('full-path') ?? ''
  }
  return ''
}

const skipped = new Set(['head', 'script', 'style'])
const blocks = /^(?:p|div|h[1-6]|tr|ul|ol|section|blockquote|pre)$/

function writeChapter(xhtml: string, out: DocumentText): void {
  let skipDepth = 0
  for (const event of readXml(xhtml)) {
    if (event.type === 'text') {
      if (skipDepth === 0) out.add(event.text.replace(/\s+/g, ' '))
      continue
    }
    const { name } = event
    const isOpen = event.type === 'open'
    if (skipped.has(name)) skipDepth += isOpen ? 1 : -1
    else if (!isOpen) out.add(blocks.test(name) ? '\n' : '')
    else if (/^h[1-6]$/.test(name)) out.add(`\n${'#'.repeat(Number(name[1]))} `)
    else if (name === 'li') out.add('\n- ')
    else if (name === 'br') out.add('\n')
    else if (name === 'img' || name === 'image') out.add(pictureNote(event.attribute('alt')))
  }
  out.add('\n\n')
}
