import type { ServerResponse } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { listenOnLoopback } from '../../test/support/loopback.ts'
import { run } from './run.ts'

/** A server that has a model for every name, unless it answers something else, and what it was asked. */
async function createServerOfAll(answer = (response: ServerResponse, _path?: string) => void response.end('data: [DONE]\n')) {
  const asked: string[] = []
  const { origin, close } = await listenOnLoopback(({ url }, response) => {
    asked.push(url ?? '')
    answer(response, url)
  })
  onTestFinished(close)
  return { asked, url: origin }
}

test.each(['./x.gguf', 'hf:o/r/x.gguf'])('the file %s is loaded, whatever names the running server answers to', async (model) => {
  const { asked, url } = await createServerOfAll()
  const loadConfig = (models: readonly string[]) => Promise.reject(new Error(`to load: ${models}`))
  await expect(run({ model, prompt: 'hi', server: { url }, isServerNamed: false, loadConfig })).rejects.toThrow(
    `to load: ${model}`,
  )
  expect(asked.filter((path) => path !== '/health')).toEqual([])
})

test('a name is asked of the running server', async () => {
  const { asked, url } = await createServerOfAll()
  const loadConfig = () => Promise.reject(new Error('not needed'))
  expect(await run({ model: 'x', prompt: 'hi', server: { url }, isServerNamed: false, loadConfig })).toBe(0)
  expect(asked).toEqual(['/health', '/v1/models/x', '/v1/chat/completions'])
})

describe('a server that was asked for', () => {
  const loadConfig = () => Promise.reject(new Error('not wanted'))
  const ask = (url: string, model = 'x') => run({ model, prompt: 'hi', server: { url }, isServerNamed: true, loadConfig })

  test('is used, whether or not it has a page about its health', async () => {
    const { asked, url } = await createServerOfAll()
    expect(await ask(url)).toBe(0)
    expect(asked).toEqual(['/v1/models/x', '/v1/chat/completions'])
  })

  test('is not replaced by another when it lacks the model', async () => {
    const { url } = await createServerOfAll((response, path) => {
      if (path === '/v1/models') response.end('{"data": [{"id": "y"}, {"id": "z"}]}')
      else response.writeHead(404).end()
    })
    await expect(ask(url)).rejects.toThrow(`the server at ${url} has no model 'x'; there is: y, z`)
  })

  test('is not replaced by another when nobody answers', async () => {
    // A port that browsers, and so `fetch`, do not talk to.
    await expect(ask('http://127.0.0.1:1')).rejects.toThrow('the server at http://127.0.0.1:1 cannot be reached: bad port')
  })

  test('loads no files of the caller', async () => {
    await expect(ask('http://127.0.0.1:1', './x.gguf')).rejects.toThrow("'./x.gguf' is loaded here")
  })
})
