import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { llamaServerBinary, llamaServerHint } from '../../support/llama/llama-server.ts'

/** What it is rendered with, in front of the answer. */
const shown =
  "{{ 'on' if enable_thinking is true else 'off' if enable_thinking is false else 'open' }}|{{ reasoning_effort or '-' }}|" +
  "{{ 'kept' if preserve_thinking else 'dropped' }}|{{ tone }}|{{ region }}"
const turns = '{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}'
/** Opens a thought and does not say what ends it. */
const opening = `${turns}<|im_start|>assistant\n<think>\n`

const chat = {
  thinking: false,
  effort: 'low',
  preserveThinking: true,
  variables: { tone: 'dry' },
  forcedVariables: { region: 'eu' },
}
const reasoningTags = { open: '<think>', close: '</think>\n' }

const engines = ['llama', ...(llamaServerBinary === undefined ? [] : ['llama-server']), 'remote'] as const
let folder: string
let behind: RunningApp
let app: RunningApp

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-chat-defaults-'))
  const file = async (name: string, text: string) => {
    await writeFile(join(folder, name), text)
    return join(folder, name)
  }
  const templates = { shown: await file('shown.jinja', `${turns}${shown}`), opening: await file('opening.jinja', opening) }
  const tokens = await file('tokens.jinja', '{{ messages[0].content }}|{{ pad_token }}|{{ unk_token is defined }}')
  const tiny = { source: 'builtin:dragoman-tiny.gguf', contextLength: 512, slots: 1, threads: 1, load: 'demand' } as const
  const shownBy = { chatTemplate: templates.shown }
  const openedBy = { chatTemplate: templates.opening }
  behind = await startApp({
    builtinModel: false,
    models: [
      { ...tiny, ...shownBy, engine: 'llama', id: 'shown' },
      { ...tiny, ...openedBy, engine: 'llama', id: 'opening' },
    ],
  })
  const llama = { ...tiny, engine: 'llama' } as const
  const server = { ...tiny, engine: 'llama-server', binary: llamaServerBinary ?? '' } as const
  const endpoints = [{ url: `${behind.url}/v1` }]
  const remote = { engine: 'remote', server: 'dragoman', endpoints, load: 'demand' } as const
  app = await startApp({
    builtinModel: false,
    models: [
      { ...llama, id: 'llama-plain' },
      { ...llama, id: 'llama-thinking', chat: { thinking: true, effort: 'low' } },
      { ...llama, ...shownBy, id: 'llama-shown', chat },
      { ...llama, ...openedBy, id: 'llama-opening', reasoningTags },
      { ...llama, id: 'tokens', chatTemplate: tokens },
      { ...remote, id: 'remote-shown', upstreamModel: 'shown', chat },
      { ...remote, id: 'remote-opening', upstreamModel: 'opening', reasoningTags },
      ...(llamaServerBinary === undefined
        ? []
        : [
            { ...server, id: 'llama-server-plain' },
            { ...server, ...shownBy, id: 'llama-server-shown', chat },
            { ...server, ...openedBy, id: 'llama-server-opening', reasoningTags },
          ]),
    ],
  })
})

afterAll(async () => {
  await app.close()
  await behind.close()
  await rm(folder, { recursive: true })
})

async function post(path: string, body: object) {
  const headers = { 'content-type': 'application/json' }
  const messages = [{ role: 'user', content: 'Hello' }]
  const reply = await fetch(app.url + path, { method: 'POST', headers, body: JSON.stringify({ messages, ...body }) })
  const text = await reply.text()
  expect([reply.status, text]).toEqual([200, expect.any(String)])
  return { ignored: reply.headers.get('x-dragoman-ignored'), body: JSON.parse(text) }
}

const prompt = async (body: object): Promise<string> => (await post('/apply-template', body)).body.prompt

describe.each(engines)(`the engine %s${llamaServerHint}`, (engine) => {
  test.each([
    [{}, 'off|-|kept|dry|eu'],
    [{ enable_thinking: true }, 'on|low|kept|dry|eu'],
    [{ reasoning_effort: 'high' }, 'on|high|kept|dry|eu'],
    [{ preserve_thinking: false }, 'off|-|dropped|dry|eu'],
    [{ chat_template_kwargs: { tone: 'warm', region: 'us' } }, 'off|-|kept|warm|eu'],
  ])("renders %j with its operator's defaults", async (body, expected) => {
    expect(await prompt({ model: `${engine}-shown`, ...body })).toMatch(new RegExp(`${expected.replaceAll('|', '\\|')}$`))
  })

  test('names a switch of a client that the template lacks', async () => {
    const body = { model: `${engine}-opening`, max_tokens: 4, temperature: 0 }
    expect((await post('/v1/chat/completions', body)).ignored).toBeNull()
    expect((await post('/v1/chat/completions', { ...body, verbosity: 'low' })).ignored).toBe('verbosity')
  })

  test("reads the operator's tags where the template opens a thought and says no more", async () => {
    const { body } = await post('/v1/chat/completions', { model: `${engine}-opening`, max_tokens: 60, temperature: 0 })
    const { content, reasoning_content: thought } = body.choices[0].message
    expect(`${thought}${content}`).not.toContain('think>')
    expect(thought).toMatch(/^\w/)
    expect(content).toMatch(/^Hello/)
  })
})

test('a model thinks by default where its operator says so, and counts what it is given', async () => {
  expect(await prompt({ model: 'llama-plain' })).not.toMatch(/<think>\s*$/)
  expect(await prompt({ model: 'llama-thinking' })).toMatch(/<think>\s*$/)
  expect(await prompt({ model: 'llama-thinking', enable_thinking: false })).toBe(await prompt({ model: 'llama-plain' }))
  const count = async (model: string) => (await post('/v1/messages/count_tokens', { model })).body.input_tokens
  expect(await count('llama-thinking')).toBeGreaterThan(await count('llama-plain'))
})

test.skipIf(llamaServerBinary === undefined)(
  `engines render one file alike where nobody says anything${llamaServerHint}`,
  async () => {
    expect(await prompt({ model: 'llama-server-plain' })).toBe(await prompt({ model: 'llama-plain' }))
  },
)

test('its answer begins with thoughts then, and a default of the operator is not reported as ignored', async () => {
  const answer = async (model: string) => post('/v1/chat/completions', { model, max_tokens: 4, temperature: 0 })
  expect((await answer('llama-plain')).body.choices[0].message).toMatchObject({ reasoning_content: null })
  const { ignored, body } = await answer('llama-thinking')
  expect(body.choices[0].message).toMatchObject({ content: '', reasoning_content: expect.stringMatching(/\w/) })
  expect(ignored).toBeNull()
})

test("a budget of thoughts counts between the operator's tags", async () => {
  const body = { model: 'llama-opening', max_tokens: 60, temperature: 0, thinking_budget: 2 }
  const { message } = (await post('/v1/chat/completions', body)).body.choices[0]
  expect(message.reasoning_content.split(' ').length).toBeLessThan(4)
  expect(message.content).toMatch(/\w/)
})

test('a template has the tokens of its file', async () => {
  expect(await prompt({ model: 'tokens' })).toBe('Hello|<|endoftext|>|False')
})
