import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { until } from '../../../test/support/http/app.ts'
import { openTestServer, type TestServerOptions } from '../../../test/support/http/test-server.ts'
import { soon } from '../../../test/support/process/stall-bound.ts'
import type { Scope } from '../../contract/principal.ts'

type Message = { readonly type?: string; readonly [key: string]: unknown }

const anyone = { authVersion: 1, clientIdentifier: '0', clientPasskey: '0' }
const late = JSON.stringify({ raw: 'one two', delayMs: 3_600_000 })
const predict = (text: string) => ({
  modelSpecifier: { type: 'query', query: {} },
  history: { messages: [{ role: 'user', content: [{ type: 'text', text }] }] },
  predictionConfigStack: { layers: [] },
})

/** A client of a namespace, whose messages arrive one by one. */
async function connect(port: number, namespace: string, greeting: object | undefined = anyone) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/${namespace}`)
  onTestFinished(() => socket.terminate())
  const received: Message[] = []
  const waiting = new Set<() => void>()
  const wakeAll = () => {
    for (const wake of waiting) wake()
    waiting.clear()
  }
  socket.on('message', (data) => {
    received.push(JSON.parse(String(data)))
    wakeAll()
  })
  const closed = once(socket, 'close').then(([code]) => code as number)
  await once(socket, 'open')
  const send = (message: object) => socket.send(JSON.stringify(message))
  const message = (matches: (message: Message) => boolean): Promise<Message> =>
    soon(async () => {
      for (;;) {
        const found = received.find(matches)
        if (found !== undefined) return found
        await new Promise<void>((resolve) => waiting.add(resolve))
      }
    })
  let ids = 0
  const call = (endpoint: string, parameter?: unknown) => {
    const callId = ids++
    send({ type: 'rpcCall', endpoint, callId, ...(parameter !== undefined && { parameter }) })
    return message((found) => found.callId === callId)
  }
  const channel = (endpoint: string, creationParameter: unknown) => {
    const channelId = ids++
    send({ type: 'channelCreate', endpoint, channelId, creationParameter })
    const ended = message((found) => found.channelId === channelId && found.type !== 'channelSend')
    return { channelId, ended, cancel: () => send({ type: 'channelSend', channelId, message: { type: 'cancel' } }) }
  }
  if (greeting !== undefined) send(greeting)
  return { socket, received, closed, send, message, call, channel }
}

async function open(namespace = 'llm', options: Partial<TestServerOptions> = {}) {
  const server = openTestServer(options)
  const port = await server.listen()
  return { ...server, port, client: await connect(port, namespace) }
}

const keyed = (name: string, scopes: readonly Scope[]) => ({
  hash: createHash('sha256').update(name).digest('hex'),
  name,
  scopes: new Set(scopes),
})

describe("a socket of LM Studio's SDKs", () => {
  test('ends with the next message once its key is deleted', async () => {
    const keys = new Map([keyed('user', ['inference'])].map((key) => [key.hash, key]))
    const server = openTestServer({ auth: { apiKeys: [], findKey: (hash) => keys.get(hash) } })
    const port = await server.listen()
    const client = await connect(port, 'system', { ...anyone, clientPasskey: 'user' })
    expect(await client.call('version')).toMatchObject({ type: 'rpcResult' })
    keys.clear()
    client.send({ type: 'rpcCall', endpoint: 'listLoaded', callId: 9 })
    expect(await client.message(({ type }) => type === 'communicationWarning')).toMatchObject({
      warning: expect.stringContaining('API key'),
    })
    expect(await soon(() => client.closed)).toBe(1008)
    expect(client.received).not.toContainEqual(expect.objectContaining({ callId: 9 }))
  })

  test('takes its key from the first message, and serves nobody without one', async () => {
    const server = openTestServer({
      auth: { apiKeys: [keyed('user', ['inference']), keyed('sk-lm-abcdefgh:12345', ['inference'])] },
    })
    const port = await server.listen()
    for (const [clientIdentifier, clientPasskey] of [
      ['0', 'user'],
      ['0', 'sk-lm-abcdefgh:12345'],
      ['abcdefgh', '12345'],
    ]) {
      const client = await connect(port, 'system', { authVersion: 1, clientIdentifier, clientPasskey })
      expect(await client.message(() => true)).toEqual({ success: true })
      expect(await client.call('version')).toMatchObject({ type: 'rpcResult' })
    }
    const wrong = await connect(port, 'system')
    expect(await wrong.message(() => true)).toEqual({ success: false, error: expect.stringContaining('API key') })
    expect(await soon(() => wrong.closed)).toBe(1008)
    const silent = await connect(port, 'system', { type: 'rpcCall', endpoint: 'version', callId: 0 })
    expect(await silent.message(() => true)).toMatchObject({ success: false })
    const long = await connect(port, 'system', { ...anyone, clientPasskey: 'user'.repeat(2000) })
    expect(await long.message(() => true)).toMatchObject({ success: false, error: expect.stringContaining('first message') })
  })

  test('lets only operators unload, load and fetch models', async () => {
    const server = openTestServer({ auth: { apiKeys: [keyed('user', ['inference'])] } })
    const port = await server.listen()
    const greeting = { ...anyone, clientPasskey: 'user' }
    const client = await connect(port, 'llm', greeting)
    const forbidden = { error: { title: expect.stringContaining("scope 'admin'") } }
    expect(await client.call('unloadModel', { identifier: 'default' })).toMatchObject(forbidden)
    const loadConfigStack = { layers: [] }
    expect(await client.channel('loadModel', { modelKey: 'default', loadConfigStack }).ended).toMatchObject(forbidden)
    expect(await client.channel('getOrLoad', { identifier: 'default', loadConfigStack }).ended).toMatchObject({
      type: 'channelClose',
    })
    const repository = await connect(port, 'repository', greeting)
    expect(await repository.channel('downloadModel', { downloadIdentifier: 'owner/some' }).ended).toMatchObject(forbidden)
    const modelSearchResultIdentifier = { type: 'catalog', identifier: 'some' }
    expect(await repository.call('searchModels', { opts: {} })).toMatchObject(forbidden)
    expect(await repository.call('getModelDownloadOptions', { modelSearchResultIdentifier })).toMatchObject(forbidden)
  })

  test('says by name what it does not serve, and what is wrong with a call', async () => {
    const { client } = await open()
    expect(await client.call('searchModels')).toMatchObject({
      type: 'rpcError',
      error: { title: expect.stringMatching(/'searchModels'.*llm/) },
    })
    expect(await client.channel('embed', {}).ended).toMatchObject({ type: 'channelError' })
    expect(await client.call('toString')).toMatchObject({ type: 'rpcError' })
    expect(await client.call('tokenize', { inputString: 'a' })).toMatchObject({
      error: { title: expect.stringContaining('specifier is missing') },
    })
    const layers = [{ layerName: 'apiOverride', config: { fields: [{ key: 'llm.prediction.topKSampling', value: 'many' }] } }]
    const failed = await client.channel('predict', { ...predict('a'), predictionConfigStack: { layers } }).ended
    expect(failed).toMatchObject({
      type: 'channelError',
      error: { title: expect.stringMatching(/^topKSampling: expected .*many/) },
    })
    client.send({ type: 'nonsense' })
    expect(await client.message(({ type }) => type === 'communicationWarning')).toMatchObject({ warning: expect.any(String) })
    client.send({ type: 'keepAlive' })
    await client.message(({ type }) => type === 'keepAliveAck')
  })

  test('answers a call that finds nothing without a result: null would hold up the SDK', async () => {
    const { client } = await open()
    const specifier = { type: 'query', query: { identifier: 'no-such-model' } }
    expect(await client.call('getModelInfo', { specifier, throwIfNotFound: false })).toEqual({ type: 'rpcResult', callId: 0 })
    expect(await client.call('getModelInfo', { specifier, throwIfNotFound: true })).toMatchObject({ type: 'rpcError' })
  })

  test('runs predictions side by side, and ends one with what there is', async () => {
    const { client } = await open()
    const first = client.channel('predict', predict(late))
    const second = client.channel('predict', predict('one two'))
    expect(await second.ended).toEqual({ type: 'channelClose', channelId: second.channelId })
    first.cancel()
    await first.ended
    const ends = client.received.flatMap(({ channelId, message }) => {
      const { type, stats } = Object(message)
      return type === 'success' ? [[channelId, stats.stopReason]] : []
    })
    expect(ends).toEqual([
      [second.channelId, 'eosFound'],
      [first.channelId, 'userStopped'],
    ])
  })

  test('stops what runs when its client leaves', async () => {
    const { client, deps } = await open()
    client.channel('predict', predict(late))
    await until(() => deps.cancellations.size === 1)
    client.socket.terminate()
    await soon(() => until(() => deps.cancellations.size === 0))
  })

  test('is closed while the server ends, after its last call', async () => {
    const { client, drain, port } = await open()
    const idle = await connect(port, 'llm')
    const running = client.channel('predict', predict(JSON.stringify({ raw: 'one two', delayMs: 100 })))
    await client.message(({ type }) => type === 'channelSend')
    const drained = drain(60_000)
    expect(await soon(() => idle.closed)).toBe(1001)
    expect(await running.ended).toMatchObject({ type: 'channelClose' })
    expect(await soon(() => client.closed)).toBe(1001)
    await drained
  })
})

test('a plain request for the path of a socket learns what is there', async () => {
  const { app } = openTestServer()
  expect((await app.inject('/lmstudio-greeting')).json()).toEqual({ lmstudio: true })
  const reply = await app.inject('/llm')
  expect([reply.statusCode, reply.json().error.message]).toEqual([404, expect.stringContaining('WebSockets')])
})
