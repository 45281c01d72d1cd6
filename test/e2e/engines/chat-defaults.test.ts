import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'

let app: RunningApp
beforeAll(async () => {
  const tiny = { engine: 'llama', source: 'builtin:dragoman-tiny.gguf', contextLength: 512, slots: 1, threads: 1 } as const
  app = await startApp({
    builtinModel: false,
    models: [
      { ...tiny, id: 'plain' },
      { ...tiny, id: 'thinking', chat: { thinking: true, effort: 'low' } },
    ],
  })
})
afterAll(() => app.close())

const messages = [{ role: 'user', content: 'Hello' }]

async function post(path: string, body: object) {
  const headers = { 'content-type': 'application/json' }
  const reply = await fetch(app.url + path, { method: 'POST', headers, body: JSON.stringify({ messages, ...body }) })
  return { ignored: reply.headers.get('x-dragoman-ignored'), body: JSON.parse(await reply.text()) }
}

test('a model thinks by default where its operator says so, and counts what it is given', async () => {
  const prompt = async (body: object) => (await post('/apply-template', body)).body.prompt
  expect(await prompt({ model: 'plain' })).not.toMatch(/<think>\s*$/)
  expect(await prompt({ model: 'thinking' })).toMatch(/<think>\s*$/)
  expect(await prompt({ model: 'thinking', enable_thinking: false })).toBe(await prompt({ model: 'plain' }))
  const count = async (model: string) => (await post('/v1/messages/count_tokens', { model })).body.input_tokens
  expect(await count('thinking')).toBeGreaterThan(await count('plain'))
})

test('its answer begins with thoughts then, and a default of the operator is not reported as ignored', async () => {
  const answer = async (model: string) => post('/v1/chat/completions', { model, max_tokens: 4, temperature: 0 })
  expect((await answer('plain')).body.choices[0].message).toMatchObject({ reasoning_content: null })
  const { ignored, body } = await answer('thinking')
  expect(body.choices[0].message).toMatchObject({ content: '', reasoning_content: expect.stringMatching(/\w/) })
  expect(ignored).toBeNull()
})
