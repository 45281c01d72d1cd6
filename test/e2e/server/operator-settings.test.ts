import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'

let folder: string
let app: RunningApp

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-operator-'))
  await writeFile(join(folder, 'loud.jinja'), '{{ messages[0].content | upper }}')
  app = await startApp({
    builtinModel: false,
    templates: folder,
    sampling: { preset: 'short', presets: { short: { max_tokens: { override: 1, force: true } } } },
    models: [{ id: 'm', engine: 'fake', script: 'from-request' }],
  })
})
afterAll(async () => {
  await app.close()
  await rm(folder, { recursive: true, force: true })
})

type Json = { choices: { message: object; finish_reason: string }[]; data: string[]; selected: string }
const read = async (response: Response) => (await response.json()) as Json

async function post(path: string, body: object) {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${app.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  return { status: response.status, headers: response.headers, json: await read(response) }
}
const messages = [{ role: 'user', content: '{"chunks": ["a ", "b"]}' }]

test('the preset of the configuration is in use from the start', async () => {
  const { json, headers } = await post('/v1/chat/completions', { model: 'm', messages, max_tokens: 5 })
  expect(json.choices[0]).toMatchObject({ message: { content: 'a ' }, finish_reason: 'length' })
  expect(headers.get('x-dragoman-preset')).toBe('short')
})

test('the folder of the configuration is where templates come from', async () => {
  expect((await read(await fetch(`${app.url}/v1/templates`))).data).toEqual(['model', 'loud'])
  expect((await post('/v1/template/switch', { prompt_template_name: 'loud' })).json.selected).toBe('loud')
  expect((await post('/apply-template', { messages: [{ role: 'user', content: 'hi' }] })).json).toEqual({ prompt: 'HI' })
})

test('an invalid preset keeps the server from starting', async () => {
  const presets = { hot: { temperature: { override: 19 } } }
  const models = [{ id: 'm', engine: 'fake' as const, script: 'from-request' }]
  await expect(startApp({ models, sampling: { presets } })).rejects.toThrow(
    'sampling.presets.hot.temperature: expected a number from 0 to 10, got 19',
  )
})
