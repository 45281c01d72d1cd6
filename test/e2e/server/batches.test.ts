import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningApp, startApp, until } from '../../support/http/app.ts'

let app: RunningApp
beforeAll(async () => {
  app = await startApp({
    models: [
      { id: 'wide', engine: 'fake', script: 'from-request', slots: 64 },
      { id: 'narrow', engine: 'fake', script: 'from-request', slots: 1 },
    ],
  })
})
afterAll(() => app.close())

const count = 16
const scripts = Array.from({ length: count }, (_, index) => JSON.stringify({ chunks: [`${index} `, 'done'], delayMs: 200 }))
const busy = (model: string) => app.metric(`dragoman_slots_busy{model="${model}"}`)

type Answer = { readonly completion_message?: { readonly content: string }; readonly content?: string; readonly text?: string }

test.each([
  ['/v1/inference/batch-chat-completion', (model: string) => ({ model_id: model, messages_batch: conversations() })],
  ['/v1/batch-inference/completion', (model: string) => ({ model_id: model, content_batch: scripts })],
  ['/v1/completions', (model: string) => ({ model, prompt: scripts })],
])('the items of one request run side by side, each on its slot: POST %s', async (path, bodyFor) => {
  const reply = post(path, bodyFor('wide'))
  await until(async () => (await busy('wide')) === count)
  const { batch, choices = batch } = (await (await reply).json()) as { batch?: Answer[]; choices?: Answer[] }
  const texts = choices?.map(({ completion_message: message, content = message?.content, text = content }) => text)
  expect(texts).toEqual(scripts.map((_, index) => `${index} done`))
  expect(await busy('wide')).toBe(0)
})

test('on a model with one slot, another request is answered in the middle of a batch', async () => {
  const batch = post('/v1/completions', { model: 'narrow', prompt: scripts.slice(0, 4) })
  let isOver = false
  void batch.finally(() => {
    isOver = true
  })
  await until(async () => (await busy('narrow')) === 1)
  expect((await post('/v1/completions', { model: 'narrow', prompt: 'short' })).status).toBe(200)
  expect(isOver).toBe(false)
  expect((await batch).status).toBe(200)
})

function conversations() {
  return scripts.map((content) => [{ role: 'user', content }])
}

function post(path: string, body: object): Promise<Response> {
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  return fetch(`${app.url}${path}`, init)
}
