import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { builtinModel } from '../names/builtin-model.ts'
import { describeGguf } from './describe-gguf.ts'

test('the header of a file says what its model is', async () => {
  expect(await describeGguf(builtinModel.path)).toEqual({
    architecture: 'llama',
    parameterCount: 4_199_936,
    quantization: 'Q8_0',
    trainedContextLength: 4096,
    embeddingLength: 256,
    layerCount: 6,
    license: 'apache-2.0',
    chatTemplate: expect.stringContaining('<|im_start|>'),
  })
})

test('a file that is cut in its header, or is none, says nothing', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-gguf-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const path = join(folder, 'odd.gguf')
  for (const text of ['GGUF', 'GGUF\u0003\u0000\u0000\u0000', 'x'.repeat(100)]) {
    await writeFile(path, text)
    expect(await describeGguf(path)).toEqual({})
  }
})
