import { DocumentProblem } from './problem.ts'
import { readXml } from './xml.ts'
import type { Zip } from './zip.ts'

type Relation = { readonly type: string; readonly path: string }

/** The relations of a part of an Office file, by id; paths are those of entries. */
export async function relationsOf(zip: Zip, part: string): Promise<ReadonlyMap<string, Relation>> {
  const folder = part.slice(0, part.lastIndexOf('/') + 1)
  const xml = await zip.text(`${folder}_rels/${part.slice(folder.length)}.rels`)
  const relations = new Map<string, Relation>()
  for (const event of readXml(xml ?? '')) {
    if (event.type !== 'open' || event.name !== 'Relationship') continue
    const target = event.attribute('Target') ?? ''
    relations.set(event.attribute('Id') ?? '', { type: event.attribute('Type') ?? '', path: resolvePath(folder, target) })
  }
  return relations
}

/** A part that a document cannot lack. */
export async function requiredText(zip: Zip, name: string): Promise<string> {
  const text = await zip.text(name)
  if (text === undefined) throw new DocumentProblem('damaged', `is damaged: its part ${name} is missing`)
  return text
}

/** The entry that a reference means, relative to a folder, which is empty or ends with `/`. */
export function resolvePath(folder: string, reference: string): string {
  if (reference.startsWith('/')) return reference.slice(1)
  const steps = folder.split('/').slice(0, -1)
  for (const step of reference.split('/')) {
    if (step === '..') steps.pop()
    else if (step !== '.') steps.push(step)
  }
  return steps.join('/')
}
