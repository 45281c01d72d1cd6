import { expect, test } from 'vitest'
import type { ConfiguredModel } from '../config/models.ts'
import { takeFile } from './take-file.ts'

const paths = ['README.md', 'a-Q4_K_M.gguf', 'a-Q8_0.gguf', 'old/a-Q8_0.gguf']

async function taken(include: readonly string[], exclude: readonly string[] = []): Promise<unknown> {
  const source = [{ type: 'hf-repository', owner: 'owner', repo: 'some' }]
  const list = async () => paths.map((path) => ({ path, sizeBytes: 1000 }))
  const config = { engine: 'llama', id: 'm', source } as unknown as ConfiguredModel
  return (await takeFile(config, { include, exclude }, list as never)) as unknown
}

test.each([
  [['a-Q4_K_M.gguf'], [], 'a-Q4_K_M.gguf'],
  [['*Q4*'], [], 'a-Q4_K_M.gguf'],
  [['a-Q?_0.gguf'], [], 'a-Q8_0.gguf'],
  [['*/a-Q8_?.gguf'], [], 'old/a-Q8_0.gguf'],
  [['*.gguf'], ['*Q4*', 'old/*'], 'a-Q8_0.gguf'],
  [['*Q8*', '*Q4*'], ['*Q8*'], 'a-Q4_K_M.gguf'],
])('%j without %j takes %s', async (include, exclude, file) => {
  expect(await taken(include, exclude)).toMatchObject({ source: [{ type: 'hf', owner: 'owner', repo: 'some', file }] })
})

test.each([['a-Q4'], ['?-Q4_K_M.ggu'], ['??-Q4_K_M.gguf'], ['*.md'], ['A-Q4_K_M.gguf']])(
  '%s lets no file of a model through',
  async (pattern) => {
    await expect(taken([pattern])).rejects.toMatchObject({
      code: 'invalid-request',
      at: ['files'],
      message: expect.stringContaining('its .gguf files are: a-Q4_K_M.gguf, a-Q8_0.gguf, old/a-Q8_0.gguf'),
    })
  },
)
