import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeGguf, type GgufValue } from '../../../test/support/llama/gguf-writer.ts'
import { builtinFile } from '../names/builtin-model.ts'
import { type ProjectorFacts, readProjector } from './read-projector.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-projector-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const text = (value: string): GgufValue => ({ type: 'string', value })
const flag = (value: boolean): GgufValue => ({ type: 'bool', value })
const blind = { readsImages: false, readsAudio: false }

test.each<[string, readonly (readonly [string, GgufValue])[], ProjectorFacts]>([
  ['the type of all media', [['clip.projector_type', text('qwen2vl_merger')]], { ...blind, type: 'qwen2vl_merger' }],
  [
    'the type of pictures, among others',
    [
      ['clip.audio.projector_type', text('ultravox')],
      ['clip.vision.projector_type', text('ldp')],
    ],
    { ...blind, type: 'ldp' },
  ],
  ['no type of sound', [['clip.audio.projector_type', text('ultravox')]], blind],
  ['no type that is no text', [['clip.projector_type', { type: 'uint32', value: 1 }]], blind],
  ['an encoder of pictures', [['clip.has_vision_encoder', flag(true)]], { readsImages: true, readsAudio: false }],
  [
    'an encoder of sound',
    [
      ['clip.has_vision_encoder', flag(false)],
      ['clip.has_audio_encoder', flag(true)],
    ],
    { readsImages: false, readsAudio: true },
  ],
])('the header names %s', async (name, metadata, expected) => {
  const path = join(folder, `${name}.gguf`)
  await writeFile(path, encodeGguf(new Map(metadata), []))
  expect(await readProjector(path)).toEqual(expected)
})

test('a file that is not a GGUF file has no facts', async () => {
  const path = join(folder, 'text.gguf')
  await writeFile(path, 'GGUF? No.')
  expect(await readProjector(path)).toBeUndefined()
})

test('the projector of the built-in model is one of LLaVA’s kind', async () => {
  const facts = await readProjector(builtinFile('dragoman-tiny-mmproj.gguf') ?? '')
  expect(facts).toEqual({ type: 'mlp', readsImages: true, readsAudio: false })
})
