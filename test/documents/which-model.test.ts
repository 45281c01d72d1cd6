import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { catalogue } from '../../src/registry/names/catalogue.ts'
import { fitsMemory } from '../../src/registry/names/memory.ts'
import { markdownTable } from '../protocols/markdown-table.ts'

const page = fileURLToPath(new URL('../../docs/guides/which-model.md', import.meta.url))
const gigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`

/** The largest models of the catalogue that each size of memory holds, and the largest that see. */
function table(): string {
  const bySize = catalogue.filter(({ trained }) => trained > 4096).toSorted((one, other) => other.sizeBytes - one.sizeBytes)
  const rows = [8, 16, 24, 32, 48, 96].map((memory) => {
    const fitting = bySize.filter(({ sizeBytes }) => fitsMemory(sizeBytes, memory * 1e9))
    const name = (models: typeof fitting) =>
      models.map(({ shortName, sizeBytes }) => `\`${shortName}\` (${gigabytes(sizeBytes)})`).join(', ')
    return [
      `${memory} GB`,
      name(fitting.slice(0, 4)),
      name(fitting.filter(({ abilities }) => abilities.includes('vision')).slice(0, 1)),
    ]
  })
  return markdownTable(['memory', 'the largest that fit', 'sees pictures'], rows)
}

test('docs/guides/which-model.md lists the largest models of the catalogue for each size of memory', async () => {
  const [start, end] = ['<!-- models -->\n\n', '\n<!-- /models -->']
  const text = readFileSync(page, 'utf8')
  const before = text.slice(0, text.indexOf(start) + start.length)
  await expect(`${before}${table()}${text.slice(text.indexOf(end))}`).toMatchFileSnapshot(page)
})
