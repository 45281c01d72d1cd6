import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { modelFromSource } from '../config/models.ts'
import { AppError } from '../contract/errors.ts'
import { parseSource, type Source } from '../registry/names/sources.ts'
import { projectorOf } from './projector-of.ts'

let home: string
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'dragoman-projector-'))
  const fetched = join(home, 'models', 'hf', 'owner', 'repo', 'main')
  await mkdir(join(fetched, 'parts'), { recursive: true })
  for (const name of ['parts/m-Q8_0.gguf', 'mmproj-F16.gguf']) await writeFile(join(fetched, name), 'GGUF')
  await mkdir(join(home, 'mine'))
  for (const name of ['m.gguf', 'm-mmproj.gguf', 'other.gguf']) await writeFile(join(home, 'mine', name), 'GGUF')
})
afterAll(() => rm(home, { recursive: true }))

const model = (...sources: readonly string[]) => ({
  ...modelFromSource({ type: 'path', path: '/' }, 'm'),
  source: sources.map(parseSource),
})
const unreachable = () => Promise.reject(new AppError('model-unavailable', 'the hub cannot be reached'))
const listing = (files: readonly string[]) => async () => files.map((path) => ({ path, sizeBytes: 1 }))
const fetched: Source = { type: 'hf', owner: 'owner', repo: 'new', revision: 'main', file: 'mmproj-F16.gguf' }

test('a model that is not here gets the projector of its repository', async () => {
  const listFiles = listing(['m-Q8_0.gguf', 'mmproj-F16.gguf'])
  expect(await projectorOf(model('hf:owner/new'), { home, listFiles })).toEqual([fetched])
  expect(await projectorOf(model('hf:owner/new/m-Q8_0.gguf'), { home, listFiles })).toEqual([fetched])
  expect(await projectorOf(model('hf:owner/new'), { home })).toBeUndefined()
  expect(await projectorOf(model('hf:owner/new'), { home, listFiles: listing(['m-Q8_0.gguf']) })).toBeUndefined()
  expect(await projectorOf(model('hf:owner/new'), { home, listFiles: unreachable })).toBeUndefined()
})

test('a model that was fetched keeps its projector without a network', async () => {
  const path = join(home, 'models', 'hf', 'owner', 'repo', 'main', 'mmproj-F16.gguf')
  const listFiles = () => Promise.reject(new Error('the hub was asked'))
  expect(await projectorOf(model('hf:owner/repo/parts/m-Q8_0.gguf'), { home, listFiles })).toEqual([{ type: 'path', path }])
})

test('a model that was fetched without its projector gets it where its repository is asked again', async () => {
  const folder = join(home, 'models', 'hf', 'owner', 'new', 'main')
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'm-Q8_0.gguf'), 'GGUF')
  const listFiles = listing(['m-Q8_0.gguf', 'mmproj-F16.gguf'])
  const here = model('hf:owner/new/m-Q8_0.gguf')
  expect(await projectorOf(here, { home, listFiles })).toBeUndefined()
  expect(await projectorOf(here, { home, listFiles, asksAgain: true })).toEqual([fetched])
})

test('a local file gets the projector beside it, also as a second source', async () => {
  const mine = [{ type: 'path', path: join(home, 'mine', 'm-mmproj.gguf') }]
  expect(await projectorOf(model(join(home, 'mine', 'm.gguf')), { home })).toEqual(mine)
  expect(await projectorOf(model('https://127.0.0.1/x.gguf', join(home, 'mine', 'm.gguf')), { home })).toEqual(mine)
  expect(await projectorOf(model(join(home, 'mine', 'other.gguf')), { home })).toBeUndefined()
  expect(await projectorOf(model('/nowhere/m.gguf'), { home })).toBeUndefined()
})

test('the configuration decides where it names a projector, or none', async () => {
  const mine = model(join(home, 'mine', 'm.gguf'))
  expect(await projectorOf({ ...mine, mmproj: 'none' }, { home })).toBeUndefined()
  expect(await projectorOf({ ...mine, mmproj: [fetched] }, { home })).toEqual([fetched])
})
