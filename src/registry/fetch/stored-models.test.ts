import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { rememberChoice } from '../names/repository-choice.ts'
import { landingPath, parseSource, type RemoteFileSource, type RepositorySource } from '../names/sources.ts'
import { listStored, removeFirstStored } from './stored-models.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'dragoman-stored-'))
  return () => rmSync(home, { recursive: true })
})

/** The file of a source as a fetch leaves it, with what it keeps beside it. */
function store(written: string, beside: readonly string[] = ['.sha256']): string {
  const path = join(home, 'models', landingPath(parseSource(written) as RemoteFileSource))
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, 'four')
  for (const end of beside) writeFileSync(`${path}${end}`, 'x')
  return path
}

test('fetched models are listed by their sources, with their sizes', () => {
  expect(listStored(home)).toEqual([])
  const sources = ['hf:o/r/a.gguf', 'hf:o/r/sub/b c.gguf@v1', 'wheel:w==1.0#in/c.gguf']
  for (const source of sources) store(source)
  const url = store('https://host.example/d.gguf?key=secret')
  expect(listStored(home).map(({ source, sizeBytes }) => [source, sizeBytes])).toEqual(
    expect.arrayContaining([...sources, url].map((source) => [source, 4])),
  )
})

test('a model is deleted with what is beside it, and its empty folders', async () => {
  const path = store('hf:o/r/a.gguf', ['.sha256', '.part', '.part.json'])
  const other = store('hf:o/other/b.gguf')
  expect(await removeFirstStored([parseSource('hf:o/r/a.gguf')], home)).toBe(7)
  expect([existsSync(dirname(path)), existsSync(join(home, 'models', 'hf', 'o', 'r')), existsSync(other)]).toEqual([
    false,
    false,
    true,
  ])
})

test('the file that was chosen of a repository is deleted, and chosen anew by the next fetch', async () => {
  const repository = parseSource('hf:o/r') as RepositorySource
  const path = store('hf:o/r/a.gguf')
  await rememberChoice(repository, 'a.gguf', home)
  await removeFirstStored([repository], home)
  expect(existsSync(path)).toBe(false)
  await expect(removeFirstStored([repository], home)).rejects.toThrow('nothing of hf:o/r is in ')
})

test('a file is deleted by its path where Dragoman fetched it, and only there', async () => {
  const path = store('https://host.example/d.gguf')
  expect(await removeFirstStored([{ type: 'path', path }], home)).toBe(5)
  const own = join(home, 'own.gguf')
  writeFileSync(own, 'mine')
  await expect(removeFirstStored([{ type: 'path', path: own }], home)).rejects.toThrow('is a file of your own')
  await expect(removeFirstStored([{ type: 'path', path: join(home, 'models', '..', 'own.gguf') }], home)).rejects.toThrow(
    'your own',
  )
  expect(existsSync(own)).toBe(true)
})

test('a split model is deleted with all of its parts', async () => {
  const first = join(home, 'models', 'own', 'm-00001-of-00002.gguf')
  mkdirSync(dirname(first), { recursive: true })
  for (const path of [first, first.replace('00001-', '00002-')]) writeFileSync(path, 'four')
  expect(await removeFirstStored([{ type: 'path', path: first }], home)).toBe(8)
  expect(existsSync(dirname(first))).toBe(false)
})
