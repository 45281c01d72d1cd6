import { Agent, getGlobalDispatcher, setGlobalDispatcher } from 'undici'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { listenOnLoopback } from '../../../test/support/upstream/loopback.ts'
import { callServer, chat, hasModel, listModels, type ServerAddress } from './client.ts'

type Answer = { status: number; body: string }

/** The next response of the server, and its last request. */
let next: Answer
let asked: { path: string | undefined; authorization: string | undefined }
let server: ServerAddress
beforeEach(async () => {
  const { origin, close } = await listenOnLoopback((request, response) => {
    asked = { path: request.url, authorization: request.headers.authorization }
    response.writeHead(next.status).end(next.body)
  })
  server = { url: origin, apiKey: 'k' }
  return close
})

const errorBody = (message: string) => JSON.stringify({ error: { message } })

describe('hasModel', () => {
  test.each([
    [200, true],
    [404, false],
  ])('%i means %s', async (status, known) => {
    next = { status, body: errorBody('no such model') }
    expect(await hasModel(server, 'a/b')).toBe(known)
    expect(asked).toEqual({ path: '/v1/models/a%2Fb', authorization: 'Bearer k' })
  })

  test.each([
    [401, errorBody('the API key is not known'), /does not accept the key in DRAGOMAN_API_KEY: set DRAGOMAN_API_KEY to a key/],
    [403, errorBody('host not allowed'), 'host not allowed'],
    [502, '<html>', 'the server answered 502 Bad Gateway'],
  ])("%i is a failure with the server's message", async (status, body, message) => {
    next = { status, body }
    await expect(hasModel(server, 'm')).rejects.toThrow(message)
  })
})

test('a list of models is enough', async () => {
  next = { status: 200, body: '{"data": [{"id": "theirs"}]}' }
  expect(await listModels(server)).toEqual([{ id: 'theirs' }])
  expect(asked.path).toBe('/v1/models')
})

test.each(['<html>', '{}', '[]', 'null'])('the response %j is not that of a model server', async (body) => {
  next = { status: 200, body }
  await expect(listModels(server)).rejects.toThrow('is not a model server: its /v1/models is not a list')
})

test('a server that asks for a key is distinguished from one that refuses it', async () => {
  next = { status: 401, body: errorBody('no API key was sent') }
  await expect(listModels({ url: server.url })).rejects.toThrow('asks for an API key: set DRAGOMAN_API_KEY')
})

describe('chat', () => {
  const answer = async (...chunks: unknown[]) => {
    next = {
      status: 200,
      body: [...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]'].map((data) => `data: ${data}\n\n`).join(''),
    }
    const events = []
    for await (const event of chat(server, { model: 'm', messages: [] }, { signal: new AbortController().signal }))
      events.push(event)
    return events
  }
  const chunk = (content?: string | null, finish_reason: string | null = null) => ({
    choices: [{ delta: { content }, finish_reason }],
  })

  test('chat yields the texts that are not empty, and the finish reason', async () => {
    expect(await answer(chunk(''), chunk('0'), chunk(null), chunk('é'), chunk(undefined, 'length'), { choices: [] })).toEqual([
      { type: 'text', text: '0' },
      { type: 'text', text: 'é' },
      { type: 'finish', reason: 'length' },
    ])
  })

  test.each([['reasoning'], ['reasoning_content'], ['reasoning', 'reasoning_content']])(
    'chat yields reasoning of %s once',
    async (...names) => {
      const delta = Object.fromEntries(names.map((name) => [name, 'Hm']))
      expect(await answer({ choices: [{ delta, finish_reason: null }] }, chunk('42', 'stop'))).toEqual([
        { type: 'reasoning', text: 'Hm' },
        { type: 'text', text: '42' },
        { type: 'finish', reason: 'stop' },
      ])
    },
  )

  test('chat throws the error that ends a stream', async () => {
    await expect(answer(chunk('a'), { error: { message: 'the engine broke' } })).rejects.toThrow('the engine broke')
  })
})

test('a command waits longer for its reply, and between its parts, than fetch does', async () => {
  const usual = getGlobalDispatcher()
  onTestFinished(() => setGlobalDispatcher(usual))
  setGlobalDispatcher(new Agent({ headersTimeout: 1, bodyTimeout: 1 }))
  const never = await listenOnLoopback(() => undefined)
  onTestFinished(never.close)
  /** Resolves when fetch has stopped waiting for a reply that never begins. */
  const outlast = () => expect(fetch(never.origin)).rejects.toMatchObject({ cause: { code: 'UND_ERR_HEADERS_TIMEOUT' } })
  const { origin, close } = await listenOnLoopback(async (_request, response) => {
    await outlast()
    response.write('{"status":')
    await outlast()
    response.end('"loaded"}')
  })
  onTestFinished(close)
  expect(await callServer({ url: origin }, '/api/inference/load', {})).toEqual({ status: 'loaded' })
})
