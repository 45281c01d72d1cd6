import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../test/support/http/app.ts'
import { blankPng } from '../../test/support/pictures.ts'
import { refusing } from '../../test/support/upstream/remote-engine.ts'
import { type ScriptedUpstream, startUpstream } from '../../test/support/upstream/upstream.ts'

const picture = blankPng(5, 4)
const pdf = Buffer.from('%PDF-1.7 of a test')
const ids = { picture: '', pdf: '' }
let app: RunningApp
let server: ScriptedUpstream

beforeAll(async () => {
  // What it is sent matters, and not what it answers.
  server = await startUpstream(refusing(400, '{"error":{"message":"enough"}}'))
  const remote = { engine: 'remote' as const, endpoints: [{ url: server.url }], upstreamModel: 'up', probe: false }
  app = await startApp({
    builtinModel: false,
    models: [
      { ...remote, id: 'chat', server: 'openai', protocol: 'chat' },
      { ...remote, id: 'messages', server: 'anthropic', protocol: 'messages' },
    ],
  })
  ids.picture = await upload(picture)
  ids.pdf = await upload(pdf)
})

afterAll(() => Promise.all([app?.close(), server?.close()]))

async function upload(bytes: Buffer): Promise<string> {
  const body = new FormData()
  body.set('purpose', 'user_data')
  body.set('file', new Blob([bytes]), 'a')
  return ((await (await fetch(`${app.url}/v1/files`, { method: 'POST', body })).json()) as { id: string }).id
}

/** A file by its id, in each protocol. */
const asks: Readonly<Record<string, (model: string, id: string) => readonly [path: string, body: object]>> = {
  'a file of chat': (model, id) => [
    '/v1/chat/completions',
    { model, messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: id } }] }] },
  ],
  'a file of Responses': (model, id) => [
    '/v1/responses',
    { model, store: false, input: [{ role: 'user', content: [{ type: 'input_file', file_id: id }] }] },
  ],
  'a document of Messages': (model, id) => [
    '/v1/messages',
    {
      model,
      max_tokens: 5,
      messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'file', file_id: id } }] }],
    },
  ],
}

/** The content of the message that the server got. */
async function sent(name: string, model: string, id: string): Promise<unknown> {
  const [path, body] = (asks[name] as (typeof asks)[string])(model, id)
  const before = server.seen.length
  const headers = { 'content-type': 'application/json' }
  const reply = await fetch(app.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  const text = await reply.text()
  const messages = server.seen.slice(before).flatMap(({ body: got }) => got.messages as { content: unknown }[] | undefined)
  expect(messages.length, text).toBeGreaterThan(0)
  return messages.at(-1)?.content
}

test.each(Object.keys(asks))('%s goes along as its bytes, and never as its id', async (name) => {
  const url = `data:image/png;base64,${picture.toString('base64')}`
  expect(await sent(name, 'chat', ids.picture)).toEqual([{ type: 'image_url', image_url: { url } }])
  expect(await sent(name, 'messages', ids.picture)).toEqual([
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: picture.toString('base64') } },
  ])
  expect(await sent(name, 'messages', ids.pdf)).toMatchObject([
    { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: pdf.toString('base64') } },
  ])
})
