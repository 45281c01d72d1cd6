import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { modelFromSource } from '../../../config/models.ts'
import type { LlamaModelConfig } from '../../../config/schema.ts'
import { llamaServerModel } from '../../../config/sections/llama-server-schema.ts'
import { builtinFile, builtinModel } from '../../../registry/names/builtin-model.ts'
import { asLlamaServer, chooseEngine } from './senses.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-senses-'))
  await cp(builtinModel.path, join(folder, 'm.gguf'))
  await cp(builtinFile('dragoman-tiny-mmproj.gguf') ?? '', join(folder, 'm-mmproj.gguf'))
  await writeFile(join(folder, 'text.gguf'), 'GGUF')
})
afterAll(() => rm(folder, { recursive: true }))

const model = (name: string) => modelFromSource({ type: 'path', path: join(folder, name) }, 'm')
const here = { hasLibrary: false, llamaServer: undefined as string | undefined, mayMove: true }
const choose = (name: string, situation: Partial<typeof here>, more: object = {}) =>
  chooseEngine({ config: { ...model(name), ...more }, home: folder, ...here, ...situation })
const seeing = { image: true, audio: false, video: false }
const blind = { image: false, audio: false, video: false }

test.each([
  ['the library reads media', { hasLibrary: true, llamaServer: '/bin/llama-server' }, { engine: 'first', modalities: seeing }],
  ['a llama-server stands in for the library', { llamaServer: '/bin/llama-server' }, { engine: 'second', modalities: seeing }],
  [
    'a model that must stay reads text',
    { llamaServer: '/bin/llama-server', mayMove: false },
    { engine: 'first', modalities: blind },
  ],
  ['without both, text is read', {}, { engine: 'first', modalities: blind }],
])('with a projector, %s', async (_, situation, expected) => {
  expect(await choose('m.gguf', situation)).toMatchObject(expected)
})

test('the reason names the command, and a llama-server only where that would help', async () => {
  const command = expect.stringContaining('run `npm run senses`')
  expect((await choose('m.gguf', {})).mediaProblem).toEqual(command)
  expect((await choose('m.gguf', {})).mediaProblem).toMatch(/`dragoman runtime get`, which fetches a llama-server for it$/)
  const bound = await choose('m.gguf', { mayMove: false })
  expect(bound.mediaProblem).toEqual(command)
  expect(bound.mediaProblem).not.toContain('runtime get')
})

test('a model without a projector, or with none by its configuration, reads text, and the reason says which', async () => {
  const all = { hasLibrary: true, llamaServer: '/bin/llama-server' }
  expect(await choose('text.gguf', all)).toMatchObject({ engine: 'first', modalities: blind, mediaProblem: /set `mmproj`/ })
  const none = await choose('m.gguf', all, { mmproj: 'none' })
  expect(none).toMatchObject({ engine: 'first', modalities: blind, mediaProblem: /mmproj: none/ })
})

test('before it is fetched, a model with a configured projector may read anything', async () => {
  const mmproj = [{ type: 'hf', owner: 'o', repo: 'r', revision: 'main', file: 'mmproj.gguf' }]
  expect(await choose('text.gguf', { hasLibrary: true }, { mmproj })).toEqual({ engine: 'first' })
  expect(await choose('nowhere.gguf', {})).toEqual({ engine: 'first' })
})

test('a llama-server gets the settings of the embedded engine', () => {
  const settings = {
    slots: 2,
    batchSize: 64,
    speculation: { type: 'ngram', maxTokens: 5 },
    rope: { scaling: 'yarn', factor: 4 },
  } as const
  const served = asLlamaServer({ ...model('m.gguf'), ...settings, contextLength: 512 })
  expect(served).toMatchObject({ id: 'm', engine: 'llama-server', slots: 2, contextLength: 512 })
  expect(served?.args.join(' ')).toBe('--batch-size 64 --spec-type ngram-simple --rope-scaling yarn --rope-scale 4')
  expect(llamaServerModel.safeParse({ ...served, source: './m.gguf' }).error).toBeUndefined()
})

test.each<[prefixCache: LlamaModelConfig['prefixCache'], args: string]>([
  ['off', '--cache-ram 0'],
  [{ memory: 'off', minTokens: 512, keysShare: false }, '--cache-ram 0'],
  [{ memory: 2 ** 30, minTokens: 512, keysShare: false }, '--cache-ram 1024'],
  [{ minTokens: 512, keysShare: false }, ''],
])('a llama-server keeps prompts as %j says', (prefixCache, args) => {
  expect(asLlamaServer({ ...model('m.gguf'), prefixCache })?.args.join(' ')).toBe(args)
})

test('a model whose settings only the embedded engine has stays there', () => {
  expect(asLlamaServer({ ...model('m.gguf'), toolStrategy: 'two-pass' })).toBeUndefined()
})
