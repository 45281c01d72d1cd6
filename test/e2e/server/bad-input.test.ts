import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasPods, type RunningApp, startApp } from '../../support/http/app.ts'
import { randomModel } from '../../support/llama/models.ts'
import { blankPng } from '../../support/pictures.ts'

let app: RunningApp
beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-templates-'))
  const template = async (name: string, source: string) => {
    const path = join(folder, name)
    await writeFile(path, source)
    return path
  }
  const llama = { engine: 'llama' as const, source: await randomModel(), contextLength: 2048, threads: 1, slots: 1 }
  app = await startApp({
    models: [
      { ...llama, id: 'random' },
      { ...llama, id: 'unparsable', chatTemplate: await template('unparsable.jinja', '{% for %}') },
      { ...llama, id: 'refusing', chatTemplate: await template('refusing.jinja', "{{ raise_exception('never') }}") },
    ],
  })
})
afterAll(() => app.close())

const hello = [{ role: 'user', content: 'hi' }]
const post = (body: string | Uint8Array, headers: Record<string, string> = {}) =>
  fetch(`${app.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: body as NonNullable<RequestInit['body']>,
  })
const json = (value: unknown) => JSON.stringify(value)
const chat = (fields: object) => json({ model: 'random', messages: hello, max_tokens: 1, ...fields })

describe('bad input gets the right 4xx in the OpenAI envelope', () => {
  test.each([
    { name: 'malformed JSON', body: () => '{"model": "random", ', status: 400, code: 'invalid_json' },
    { name: 'an empty body', body: () => '', status: 400, code: 'invalid_json' },
    { name: 'JSON that is no object', body: () => '[1, 2]', status: 400 },
    {
      name: 'invalid UTF-8',
      body: () => Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
      status: 400,
      code: 'invalid_json',
    },
    {
      name: 'deep nesting',
      body: () => `{"model":"random","messages":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
      status: 400,
    },
    { name: 'an unknown model', body: () => chat({ model: 'nope' }), status: 404, code: 'model_not_found', param: 'model' },
    { name: 'no messages', body: () => json({ model: 'random' }), status: 400, param: 'messages' },
    { name: 'empty messages', body: () => chat({ messages: [] }), status: 400, param: 'messages' },
    {
      name: 'a wrong role',
      body: () => chat({ messages: [{ role: 'wizard', content: 'x' }] }),
      status: 400,
      param: 'messages[0].role',
    },
    {
      name: 'a number as content',
      body: () => chat({ messages: [{ role: 'user', content: 5 }] }),
      status: 400,
      param: 'messages[0].content',
    },
    { name: 'a text as temperature', body: () => chat({ temperature: 'hot' }), status: 400, param: 'temperature' },
    { name: 'a negative temperature', body: () => chat({ temperature: -1 }), status: 400, param: 'temperature' },
    { name: 'negative max_tokens', body: () => chat({ max_tokens: -5 }), status: 400, param: 'max_tokens' },
    { name: 'no output wanted', body: () => chat({ max_tokens: 0 }), status: 400, param: 'max_tokens' },
    { name: 'a negative top_p', body: () => chat({ top_p: -0.1 }), status: 400, param: 'top_p' },
    {
      name: 'an infinite number',
      body: () => chat({}).replace('"max_tokens":1', '"max_tokens":1e999'),
      status: 400,
      param: 'max_tokens',
    },
    { name: 'a token that does not exist', body: () => chat({ logit_bias: { 99999999: 1 } }), status: 400, param: 'logit_bias' },
    {
      name: 'an image on a text engine',
      body: () =>
        chat({
          messages: [
            {
              role: 'user',
              content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${blankPng().toString('base64')}` } }],
            },
          ],
        }),
      status: 400,
      code: 'unsupported_field',
      param: 'messages[0].content[0]',
    },
    {
      name: '2 MB of words',
      body: () => chat({ messages: [{ role: 'user', content: 'lorem ipsum '.repeat(170_000) }] }),
      status: 400,
      code: 'context_length_exceeded',
    },
    {
      name: '2 MB without a space',
      body: () => chat({ messages: [{ role: 'user', content: 'a'.repeat(2_000_000) }] }),
      status: 400,
      code: 'context_length_exceeded',
    },
    {
      name: '2 MB of spaces',
      body: () => chat({ messages: [{ role: 'user', content: ' '.repeat(2_000_000) }] }),
      status: 400,
      code: 'context_length_exceeded',
    },
    {
      name: '2 MB of emoji',
      body: () => chat({ messages: [{ role: 'user', content: '😀'.repeat(500_000) }] }),
      status: 400,
      code: 'context_length_exceeded',
    },
    { name: 'a template that does not parse', body: () => chat({ model: 'unparsable' }), status: 400, code: 'template_failed' },
    { name: 'a template that refuses everything', body: () => chat({ model: 'refusing' }), status: 400, code: 'template_failed' },
  ])('$name', async ({ body, status, ...rest }) => {
    const expected = rest as { code?: string; param?: string }
    for (const stream of [false, true]) {
      const text = body()
      const sent = stream && typeof text === 'string' ? text.replace('"max_tokens":1,', '"max_tokens":1,"stream":true,') : text
      const reply = await post(sent)
      expect(reply.headers.get('content-type')).toContain('application/json')
      const { error } = (await reply.json()) as {
        error: { message: string; type: string; param: string | null; code: string | null }
      }
      expect({ status: reply.status, type: error.type }).toEqual({ status, type: 'invalid_request_error' })
      expect(error.message.length).toBeGreaterThan(10)
      expect(error.message.length).toBeLessThan(1000)
      if (expected.code !== undefined) expect(error.code).toBe(expected.code)
      if (expected.param !== undefined) expect(error.param).toBe(expected.param)
    }
  })

  test('another content type', async () => {
    expect((await post('x', { 'content-type': 'text/plain' })).status).toBe(415)
  })

  test('unknown fields are accepted, and named', async () => {
    const reply = await post(chat({ frobnicate: 1, temperature: 0 }))
    expect(reply.status).toBe(200)
    expect(reply.headers.get('x-dragoman-ignored')).toBe('frobnicate')
  })
})

test.skipIf(hasPods)('after all that the server is healthy, and nothing was logged as an error', async () => {
  expect((await fetch(`${app.url}/health`)).status).toBe(200)
  expect((await post(chat({}))).status).toBe(200)
  expect(app.logLines().filter((line) => line.level >= 50)).toEqual([])
  expect(app.logLines().filter((line) => line.msg === 'worker ended; restarting')).toEqual([])
})
