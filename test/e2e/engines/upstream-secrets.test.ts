import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { encodings } from '../../support/encodings.ts'
import { startApp } from '../../support/http/app.ts'
import { refusing } from '../../support/upstream/remote-engine.ts'
import { type Answer, chatChunk, doneLine, startUpstream, streamOf } from '../../support/upstream/upstream.ts'

/** A server that shows a text wherever a failure can. */
type Echo = (text: string) => Answer

const error = (text: string) => ({ error: { message: `no: ${text}`, type: text, code: text, param: text } })
const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`
const done = chatChunk({ delta: {}, finish_reason: 'stop' }) + doneLine
const hello = chatChunk({ delta: { content: 'Hello' } })

const echoes: Readonly<Record<string, Echo>> = {
  'a client error': (text) => refusing(400, JSON.stringify(error(text))),
  'a server error': (text) => refusing(500, JSON.stringify({ detail: [{ msg: text }] })),
  'an error page': (text) => refusing(502, `<html><title>${text}</title></html>`),
  'plain text': (text) => refusing(500, text),
  'a long plain text': (text) => refusing(500, 'x'.repeat(485) + text),
  'a refused key': (text) => refusing(401, JSON.stringify(error(text))),
  'a missing model': (text) => refusing(404, JSON.stringify(error(text))),
  'a redirect': (text) => refusing(307, '', { location: `/${encodeURIComponent(text)}/v2` }),
  'an error event first': (text) => streamOf(event(error(text))),
  'an error event later': (text) => streamOf(hello, event(error(text))),
  'a named error event': (text) => streamOf(hello, `event: error\ndata: ${text}\n\n`),
  'an error status in an event': (text) => streamOf(hello, event({ object: 'error', message: text, code: 400 })),
  'an event that is not JSON': (text) => streamOf(`data: ${text}\n\n`),
  'a later event that is not JSON': (text) => streamOf(hello, `data: {"a": ${text}\n\n`),
  'a reply that is not JSON': (text) => refusing(200, `{ ${text}`),
  'a finish reason': (text) => streamOf(hello, chatChunk({ delta: {}, finish_reason: text }), doneLine),
}

/** Whose key it is: the configuration's, or that of the caller, who sends it in a header. */
type Owner = 'configuration' | 'caller'

/** Everything that a client, an operator or a monitor can read. */
async function everythingOf(secret: string, echo: Echo, { shown = secret, owner }: Shown): Promise<string> {
  // Each on a server of its own: one that has failed is not asked again at once.
  return (await Promise.all([true, false].map((stream) => seenOf(secret, echo(shown), { stream, owner })))).join('\n')
}

type Shown = { readonly shown?: string; readonly owner: Owner }
type Asked = { readonly stream: boolean; readonly owner: Owner }

async function seenOf(secret: string, answer: Answer, { stream, owner }: Asked): Promise<string> {
  const server = await startUpstream(answer)
  const apiKeyEnv = `SECRET_OF_TEST_${randomBytes(8).toString('hex')}`
  process.env[apiKeyEnv] = owner === 'caller' ? 'the configured key' : secret
  const endpoints = [{ url: server.url, apiKeyEnv }]
  const app = await startApp({ models: [{ id: 'm', engine: 'remote', endpoints, probe: false, load: 'demand' }] })
  try {
    const seen: string[] = []
    const messages = [{ role: 'user', content: 'hi' }]
    const body = JSON.stringify({ model: 'm', messages, stream })
    const headers = {
      'content-type': 'application/json',
      ...(owner === 'caller' && { 'x-llamastack-provider-data': JSON.stringify({ passthrough_api_key: secret }) }),
    }
    const response = await fetch(`${app.url}/v1/chat/completions`, { method: 'POST', headers, body })
    seen.push(JSON.stringify([...response.headers]), await response.text())
    for (const path of ['/v1/models', '/v1/models/m', '/metrics', '/ready', '/props']) {
      seen.push(await (await fetch(app.url + path)).text())
    }
    return [...seen, ...app.logLines().map((line) => JSON.stringify(line))].join('\n')
  } finally {
    await app.close()
    await server.close()
    delete process.env[apiKeyEnv]
  }
}

// Most of the time is waiting before a request is tried again.
describe.concurrent.each<Owner>(['configuration', 'caller'])(
  "a server's key, which is the %s's, is shown to nobody when the server repeats it",
  (owner) => {
    // A key as they are made, and one that every encoding changes.
    const secrets = [`sk-${randomBytes(18).toString('base64url')}`, `k/+"\\%41&${randomBytes(12).toString('hex')}=="`]
    test.each(Object.entries(echoes))('in %s', async (_, echo) => {
      for (const secret of owner === 'caller' ? secrets.slice(1) : secrets) {
        const everything = await everythingOf(secret, echo, { owner })
        expectWithout(everything, secret)
      }
    })

    test.each(Object.entries(encodings))('encoded %s', async (_, encode) => {
      const names = ['a client error', 'an error event later', 'plain text', 'an event that is not JSON'] as const
      for (const name of owner === 'caller' ? names.slice(0, 2) : names) {
        const secret = secrets[0] ?? ''
        expectWithout(await everythingOf(secret, echoes[name] as Echo, { shown: encode(secret), owner }), secret, encode(secret))
      }
    })
  },
)

test("a model's output stays as it is, also where it holds the server's key", async () => {
  const secret = `sk-${randomBytes(18).toString('base64url')}`
  const output = streamOf(chatChunk({ delta: { content: `a ${secret} b` } }), done)
  expect(await seenOf(secret, output, { stream: true, owner: 'configuration' })).toContain(`a ${secret} b`)
})

function expectWithout(everything: string, secret: string, shown = secret): void {
  for (const form of [secret, shown]) {
    for (const text of [
      form,
      JSON.stringify(form).slice(1, -1),
      encodeURIComponent(form),
      Buffer.from(form).toString('base64'),
    ]) {
      expect(everything.includes(text), text).toBe(false)
    }
  }
  expect(everything).not.toContain(secret.slice(0, 16))
}
