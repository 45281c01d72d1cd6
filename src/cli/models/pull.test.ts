import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { encodeGguf } from '../../../test/support/llama/gguf-writer.ts'
import { loadConfig } from '../../config/load.ts'
import { pull } from './pull.ts'

/** A configuration of one model, with its files in a temporary folder. */
async function createConfig(model: object) {
  const home = await mkdtemp(join(tmpdir(), 'dragoman-pull-'))
  onTestFinished(() => rm(home, { recursive: true }))
  for (const name of ['m.gguf', 'mmproj.gguf', 'draft.gguf']) await writeFile(join(home, name), encodeGguf(new Map(), []))
  await writeFile(join(home, 'c.json'), JSON.stringify({ models: [{ id: 'm', ...model }] }))
  return { home, load: () => loadConfig({ flags: { config: 'c.json' }, env: {}, cwd: home, userHome: home }) }
}

function printed(): string[] {
  const lines: string[] = []
  const spy = vi.spyOn(console, 'log').mockImplementation((line) => void lines.push(String(line)))
  onTestFinished(() => spy.mockRestore())
  return lines
}

test.each<[object, string[]]>([
  [{ engine: 'llama', source: 'm.gguf' }, ['m.gguf']],
  [{ engine: 'llama-server', source: 'm.gguf' }, ['m.gguf']],
  [
    { engine: 'llama-server', source: 'm.gguf', mmproj: 'mmproj.gguf', draft: { source: 'draft.gguf' } },
    ['m.gguf', 'mmproj.gguf', 'draft.gguf'],
  ],
])('every file of %j is fetched, and its path printed', async (model, files) => {
  const { home, load } = await createConfig(model)
  const lines = printed()
  await pull('m', load)
  expect(lines).toEqual(files.map((name) => join(home, name)))
})

test('a model without files is reported by name', async () => {
  const { load } = await createConfig({ engine: 'fake', script: 'from-request' })
  await expect(pull('m', load)).rejects.toThrow("model 'm' has no file to fetch")
})
