import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { rememberChoice } from '../registry/names/repository-choice.ts'
import { landingPath, parseSource, type RemoteFileSource, type RepositorySource } from '../registry/names/sources.ts'
import { type ModelWithFiles, pathsHere } from './fetch-files.ts'

test('files of a model are found however they are named, also those that draft, adapt or see for it', async () => {
  const home = mkdtempSync(join(tmpdir(), 'dragoman-paths-'))
  onTestFinished(() => rmSync(home, { recursive: true }))
  const store = (written: string) => {
    const path = join(home, 'models', landingPath(parseSource(written) as RemoteFileSource))
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, 'GGUF')
    return path
  }
  const path = store('hf:o/r/a.gguf')
  await rememberChoice(parseSource('hf:o/r') as RepositorySource, 'a.gguf', home)
  const hereOf = (config: object) =>
    pathsHere({ engine: 'llama', source: [parseSource('hf:o/other/b.gguf')], mmproj: 'none', ...config } as ModelWithFiles, home)
  expect(await hereOf({})).toEqual([])
  for (const name of ['hf:o/r', 'hf:o/r/a.gguf', path]) {
    const source = [parseSource(name)]
    expect(await hereOf({ source }), name).toEqual([path])
    expect(await hereOf({ draft: { source } }), name).toEqual([path])
    expect(await hereOf({ mmproj: source }), name).toEqual([path])
    expect(await hereOf({ adapters: [{ source, scale: 1 }] }), name).toEqual([path])
  }
})
