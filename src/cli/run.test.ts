import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { run } from './run.ts'

/** A server that has a model for every name, and what it was asked. */
async function createServerOfAll() {
  const asked: string[] = []
  const http = createServer(({ url }, response) => {
    asked.push(url ?? '')
    response.end('data: [DONE]\n')
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise((resolve) => void http.close(() => resolve())))
  return { asked, url: `http://127.0.0.1:${(http.address() as AddressInfo).port}` }
}

test.each(['./x.gguf', 'hf:o/r/x.gguf'])('the file %s is loaded, whatever names the running server answers to', async (model) => {
  const { asked, url } = await createServerOfAll()
  const loadConfig = (models: readonly string[]) => Promise.reject(new Error(`to load: ${models}`))
  await expect(run({ model, prompt: 'hi', server: { url }, loadConfig })).rejects.toThrow(`to load: ${model}`)
  expect(asked.filter((path) => path !== '/health')).toEqual([])
})

test('a name is asked of the running server', async () => {
  const { asked, url } = await createServerOfAll()
  const loadConfig = () => Promise.reject(new Error('not needed'))
  expect(await run({ model: 'x', prompt: 'hi', server: { url }, loadConfig })).toBe(0)
  expect(asked).toEqual(['/health', '/v1/models/x', '/v1/chat/completions'])
})
