import type { ServerResponse } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { listenOnLoopback } from '../../test/support/upstream/loopback.ts'
import { run } from './run.ts'

/** A server that has a model for every name, unless `answer` replies otherwise; `asked` lists the paths of its requests. */
async function startAnyModelServer(answer = (response: ServerResponse, _path?: string) => void response.end('data: [DONE]\n')) {
  const asked: string[] = []
  const { origin, close } = await listenOnLoopback(({ url }, response) => {
    asked.push(url ?? '')
    answer(response, url)
  })
  onTestFinished(close)
  return { asked, url: origin }
}

test.each(['./x.gguf', 'hf:o/r/x.gguf'])('the file %s is loaded, although the running server accepts any name', async (model) => {
  const { asked, url } = await startAnyModelServer()
  const loadConfig = (models: readonly string[]) => Promise.reject(new Error(`to load: ${models}`))
  await expect(run({ model, prompt: 'hi', server: { url }, isServerNamed: false, modelFlags: {}, loadConfig })).rejects.toThrow(
    `to load: ${model}`,
  )
  expect(asked.filter((path) => path !== '/health')).toEqual([])
})

test('a name is looked up on the running server', async () => {
  const { asked, url } = await startAnyModelServer()
  const loadConfig = () => Promise.reject(new Error('not needed'))
  expect(await run({ model: 'x', prompt: 'hi', server: { url }, isServerNamed: false, modelFlags: {}, loadConfig })).toBe(0)
  expect(asked).toEqual(['/health', '/v1/models/x', '/v1/chat/completions'])
})

test('settings of the model are refused where a running server has loaded it', async () => {
  const { url } = await startAnyModelServer()
  const loadConfig = () => Promise.reject(new Error('not needed'))
  const modelFlags = { context: '32768', slots: '1' }
  const asked = run({ model: 'x', prompt: 'hi', server: { url }, isServerNamed: false, modelFlags, loadConfig })
  await expect(asked).rejects.toThrow(/^--context, --slots: 'x' is a model of the server at .*`dragoman load x` takes --context/)
})

describe('a server that the user named', () => {
  const loadConfig = () => Promise.reject(new Error('not wanted'))
  const ask = (url: string, model = 'x') =>
    run({ model, prompt: 'hi', server: { url }, isServerNamed: true, modelFlags: {}, loadConfig })

  test('the server is used even if it has no health route', async () => {
    const { asked, url } = await startAnyModelServer()
    expect(await ask(url)).toBe(0)
    expect(asked).toEqual(['/v1/models/x', '/v1/chat/completions'])
  })

  test('the server is not replaced by another when it lacks the model', async () => {
    const { url } = await startAnyModelServer((response, path) => {
      if (path === '/v1/models') response.end('{"data": [{"id": "y"}, {"id": "z"}]}')
      else response.writeHead(404).end()
    })
    await expect(ask(url)).rejects.toThrow(`the server at ${url} has no model 'x'; available: y, z`)
  })

  test('the server is not replaced by another when it does not respond', async () => {
    // A port that `fetch` refuses, as browsers do.
    await expect(ask('http://127.0.0.1:1')).rejects.toThrow('the server at http://127.0.0.1:1 cannot be reached: bad port')
  })

  test('the server does not load a source', async () => {
    await expect(ask('http://127.0.0.1:1', './x.gguf')).rejects.toThrow("'./x.gguf' is a source, which the server at")
  })
})
