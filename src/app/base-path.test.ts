import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../test/support/http/app.ts'
import { openSocket } from '../../test/support/http/responses-socket.ts'
import { chat, hasModel, isServing, listModels } from '../cli/servers/client.ts'

let app: RunningApp
beforeAll(async () => {
  const models = [{ engine: 'fake', id: 'echo', script: 'from-request' } as const]
  app = await startApp({ models, builtinModel: false, server: { basePath: '/llm/' } })
})
afterAll(() => app.close())

test("a server's address has its base path, with which commands reach all of its routes", async () => {
  expect(app.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/llm$/)
  const server = { url: app.url }
  expect([await isServing(server), await hasModel(server, 'echo')]).toEqual([true, true])
  expect((await listModels(server)).map(({ id }) => id)).toEqual(['echo'])
  const request = { model: 'echo', messages: [{ role: 'user', content: 'hello' }] } as const
  const texts: string[] = []
  for await (const event of chat(server, request, { signal: new AbortController().signal }))
    if (event.type === 'text') texts.push(event.text)
  expect(texts.join('')).toBe('hello')
})

test('WebSockets are opened below it', async () => {
  const { turn } = await openSocket(Number(new URL(app.url).port), {}, '/llm/v1/responses')
  expect(await turn({ model: 'echo', input: 'hello' })).toMatchObject({ type: 'response.completed' })
})
