import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { modelFromSource } from '../config/models.ts'
import { AppError } from '../contract/errors.ts'
import { parseSource } from '../registry/names/sources.ts'
import { attachProjector } from './attach-projector.ts'

let home: string
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'dragoman-projector-'))
  const fetched = join(home, 'models', 'hf', 'owner', 'repo', 'main')
  await mkdir(fetched, { recursive: true })
  for (const name of ['m-Q8_0.gguf', 'mmproj-F16.gguf']) await writeFile(join(fetched, name), 'GGUF')
})
afterAll(() => rm(home, { recursive: true }))

const unreachable = () => Promise.reject(new AppError('model-unavailable', 'the hub cannot be reached'))
const attach = (source: string, files: readonly string[] | undefined) =>
  attachProjector(modelFromSource(parseSource(source), 'm'), {
    llamaServer: '/bin/llama-server',
    home,
    listFiles: files === undefined ? unreachable : async () => files.map((path) => ({ path, sizeBytes: 1 })),
  })
const mmproj = [{ type: 'hf', owner: 'owner', repo: 'repo', revision: 'main', file: 'mmproj-F16.gguf' }]
const seeing = { engine: 'llama-server', id: 'm', binary: '/bin/llama-server', mmproj, load: 'demand' }

test('a model of a repository with a projector runs on llama-server with it', async () => {
  expect(await attach('hf:owner/repo', ['m-Q8_0.gguf', 'mmproj-F16.gguf'])).toMatchObject(seeing)
  expect(await attach('hf:owner/repo/m-Q8_0.gguf', ['m-Q8_0.gguf', 'mmproj-F16.gguf'])).toMatchObject(seeing)
})

test('where the hub cannot be reached, what was fetched before counts', async () => {
  expect(await attach('hf:owner/repo', undefined)).toMatchObject(seeing)
  expect(await attach('hf:owner/other', undefined)).toMatchObject({ engine: 'llama' })
})

test('a model without a projector, or from elsewhere, stays as it is', async () => {
  expect(await attach('hf:owner/repo', ['m-Q8_0.gguf'])).toMatchObject({ engine: 'llama' })
  expect(await attach('https://127.0.0.1/m.gguf', [])).toMatchObject({ engine: 'llama' })
  expect(await attach('/nowhere/m.gguf', [])).toMatchObject({ engine: 'llama' })
})
