import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeGguf, type GgufValue } from '../../../test/support/llama/gguf-writer.ts'
import { builtinFile } from '../names/builtin-model.ts'
import { readProjectorType } from './projector-type.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-projector-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const type = (value: string): GgufValue => ({ type: 'string', value })

test.each<[string, readonly (readonly [string, GgufValue])[], string | undefined]>([
  ['of all media', [['clip.projector_type', type('qwen2vl_merger')]], 'qwen2vl_merger'],
  [
    'of pictures, among others',
    [
      ['clip.audio.projector_type', type('ultravox')],
      ['clip.vision.projector_type', type('ldp')],
    ],
    'ldp',
  ],
  ['of sound only', [['clip.audio.projector_type', type('ultravox')]], undefined],
  ['that is no text', [['clip.projector_type', { type: 'uint32', value: 1 }]], undefined],
])('the type %s', async (name, metadata, expected) => {
  const path = join(folder, `${name}.gguf`)
  await writeFile(path, encodeGguf(new Map(metadata), []))
  expect(await readProjectorType(path)).toBe(expected)
})

test('a file that is not a GGUF file has none', async () => {
  const path = join(folder, 'text.gguf')
  await writeFile(path, 'GGUF? No.')
  expect(await readProjectorType(path)).toBeUndefined()
})

test('the projector of the built-in model is one of LLaVA’s kind', async () => {
  expect(await readProjectorType(builtinFile('dragoman-tiny-mmproj.gguf') ?? '')).toBe('mlp')
})
