import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { expect, onTestFinished, test } from 'vitest'
import { createDragoman } from '../create-dragoman.ts'

const config = { builtinModel: false, storage: 'off', models: [{ id: 'echo', script: 'from-request' }] } as const

async function open(basePath?: string) {
  const dragoman = await createDragoman({ config, ...(basePath !== undefined && { basePath }) })
  onTestFinished(() => dragoman.close())
  return dragoman.handler
}

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const ask = async (url: string) => {
  const body = JSON.stringify({ model: 'echo', messages: [{ role: 'user', content: 'hi' }] })
  const headers = { 'content-type': 'application/json' }
  return await fetch(`${url}/v1/chat/completions?a=b`, { method: 'POST', headers, body })
}

test('a server of Node.js answers with it', async () => {
  const url = await serve(await open())
  expect(await (await ask(url)).json()).toMatchObject({ choices: [{ message: { content: 'hi' } }] })
})

test.each([
  ['a base path', '/llm', undefined],
  ['a path of Express', undefined, '/llm'],
  ['both', '/llm', '/llm'],
  ['one below the other', '/llm', '/api'],
])('in Express, it is found below %s', async (_, basePath, mount) => {
  const handler = await open(basePath)
  const app = express()
  if (mount === undefined) app.use(handler)
  else app.use(mount, handler)
  app.use((_request, response) => void response.status(404).send('of the program'))
  const url = await serve(app)
  const place = mount === '/api' ? '/api/llm' : '/llm'
  const reply = await ask(`${url}${place}`)
  expect(await reply.json()).toMatchObject({ choices: [{ message: { content: 'hi' } }] })
  expect((await fetch(`${url}${place}/v1/models`)).status).toBe(200)
  const elsewhere = await fetch(`${url}/elsewhere`)
  expect([elsewhere.status, await elsewhere.text()]).toEqual([404, 'of the program'])
})

test('a body that another handler has read is refused with a reason', async () => {
  const handler = await open()
  const app = express().use(express.json(), handler)
  const reply = await ask(await serve(app))
  expect([reply.status, await reply.text()]).toEqual([500, expect.stringContaining('express.json()')])
})
