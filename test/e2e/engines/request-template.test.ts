import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp, until } from '../../support/http/app.ts'
import { llamaServerBinary, llamaServerHint } from '../../support/llama/llama-server.ts'

/** Whatever the messages are, the model is asked this. */
const fixedQuestion = 'What is two plus two?'
const turns = (messages: string) =>
  `{% for m in ${messages} %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}` +
  '{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}'
const fixed = turns(`[{"role": "user", "content": "${fixedQuestion}"}]`)
const thinking = `${turns('messages')}<think>\n{# </think> #}`

const tiny = {
  source: 'builtin:dragoman-tiny.gguf',
  contextLength: 1024,
  slots: 3,
  threads: 1,
  defaults: { temperature: 0 },
} as const

let folder: string
let app: RunningApp

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-request-template-'))
  const templates = { fixed, thinking, 'found-by-name': `{# by name #}${turns('messages')}` }
  for (const [name, source] of Object.entries(templates)) await writeFile(join(folder, `${name}.jinja`), source)
  app = await startApp({
    builtinModel: false,
    templates: folder,
    server: {
      apiKeys: [
        { key: 'k-admin', scopes: ['inference', 'admin'] },
        { key: 'k-user', scopes: ['inference'] },
      ],
    },
    models: [
      { ...tiny, engine: 'llama', id: 'tiny' },
      { ...tiny, engine: 'llama', id: 'found-by-name', slots: 1, load: 'demand' },
      {
        ...tiny,
        engine: 'llama',
        id: 'configured',
        aliases: ['found-by-name:2'],
        slots: 1,
        load: 'demand',
        chatTemplate: join(folder, 'fixed.jinja'),
      },
      ...(llamaServerBinary === undefined
        ? []
        : [
            {
              ...tiny,
              engine: 'llama-server',
              binary: llamaServerBinary,
              id: 'owner/found-by-name',
              slots: 1,
              load: 'demand',
            } as const,
          ]),
    ],
  })
})
afterAll(async () => {
  await app.close()
  await rm(folder, { recursive: true })
})

type Reply = {
  readonly prompt: string
  readonly length: number
  readonly selected: string
  readonly choices: readonly { readonly message: { readonly content: string; readonly reasoning_content?: string | null } }[]
  readonly parameters: { readonly prompt_template: string; readonly prompt_template_content: string }
  readonly error: { readonly message: string; readonly param: string }
}

async function call(path: string, body?: object, key = 'k-admin') {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }
  const reply = await fetch(
    `${app.url}${path}`,
    body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) },
  )
  return { status: reply.status, json: (await reply.json()) as Reply }
}
const said = (content: string) => [{ role: 'user', content }]
const chat = async (body: object) => {
  const { json } = await call('/v1/chat/completions', { model: 'tiny', max_tokens: 40, ...body })
  return json.choices[0]?.message ?? { content: json.error.message }
}
const answerTo = async (body: object) => (await chat(body)).content

describe('a template that a request names', () => {
  const colours = { messages: said('Name three colours.') }

  test('writes its prompt, while the requests beside it have that of the model', async () => {
    const plain = await answerTo(colours)
    const asked = await answerTo({ messages: said(fixedQuestion) })
    expect(plain).not.toBe(asked)
    const named = { ...colours, prompt_template: 'fixed' }
    const together = await Promise.all([named, colours, named, colours, colours].map(answerTo))
    expect(together).toEqual([asked, plain, asked, plain, plain])
    expect((await call('/v1/templates?model=tiny')).json.selected).toBe('model')
  })

  test('ends the answer, opens its thoughts, and is what is counted', async () => {
    const question = { messages: said(fixedQuestion) }
    const content = await answerTo(question)
    const word = content.split(/\s+/)[1] ?? ''
    expect(word).not.toBe('')
    await writeFile(join(folder, 'stops.jinja'), `{% set stop_strings = [${JSON.stringify(word)}] %}${turns('messages')}`)
    const [stopped, thought, plain] = await Promise.all([
      chat({ ...question, prompt_template: 'stops' }),
      chat({ ...question, prompt_template: 'thinking' }),
      chat(question),
    ])
    expect(stopped.content).toBe(content.slice(0, content.indexOf(word)))
    expect(thought.reasoning_content).toMatch(/\w/)
    expect([plain.content, plain.reasoning_content]).toEqual([content, null])
    const length = async (more: object) =>
      (await call('/v1/token/encode', { model: 'tiny', text: colours.messages, ...more })).json.length
    const prompt = async (more: object) => (await call('/apply-template', { model: 'tiny', ...colours, ...more })).json.prompt
    expect(await prompt({ prompt_template: 'fixed' })).toBe(
      `<|im_start|>user\n${fixedQuestion}<|im_end|>\n<|im_start|>assistant\n`,
    )
    expect(await length({ prompt_template: 'fixed' })).not.toBe(await length({}))
  })

  test('is there for its request where the model has none', async () => {
    const asked = await answerTo({ messages: said(fixedQuestion) })
    await call('/v1/template/unload', { model: 'tiny' })
    expect(await answerTo({ ...colours, prompt_template: 'fixed' })).toBe(asked)
    expect((await call('/v1/chat/completions', { model: 'tiny', ...colours })).status).toBe(400)
    await call('/v1/template/switch', { model: 'tiny', prompt_template_name: 'model' })
  })

  test('is for keys with the scope admin, and one of those that there are', async () => {
    const named = { model: 'tiny', ...colours, prompt_template: 'fixed', max_tokens: 1 }
    const refused = await call('/v1/chat/completions', named, 'k-user')
    expect([refused.status, refused.json.error.message]).toEqual([403, expect.stringContaining("the scope 'admin'")])
    const unknown = await call('/v1/chat/completions', { ...named, prompt_template: '../fixed' })
    expect([unknown.status, unknown.json.error.param]).toEqual([400, 'prompt_template'])
    expect(unknown.json.error.message).toMatch(/choose one of: model, .*fixed/)
  })
})

describe('a template with the name of a model', () => {
  const shownBy = async (id: string) => {
    await call('/apply-template', { model: id, messages: said('hi') })
    return (await call(`/v1/model?model=${encodeURIComponent(id)}`)).json.parameters
  }

  test('is used where the configuration names none, which the card and the log say', async () => {
    const own = await readFile(join(folder, 'found-by-name.jinja'), 'utf8')
    expect(await shownBy('found-by-name')).toMatchObject({ prompt_template: 'found-by-name', prompt_template_content: own })
    await until(() => app.logLines().some(({ msg }) => msg?.includes("chat template: 'found-by-name'") === true))
    expect(await shownBy('configured')).toMatchObject({ prompt_template: 'model', prompt_template_content: fixed })
    expect((await shownBy('tiny')).prompt_template).toBe('model')
  })

  test('gives way to the own one, and to a load that names that', async () => {
    const prompt = async () => (await call('/v1/templates?model=found-by-name')).json.selected
    await call('/v1/template/switch', { model: 'found-by-name', prompt_template_name: 'model' })
    expect(await prompt()).toBe('model')
    expect((await shownBy('found-by-name')).prompt_template_content).not.toContain('by name')
  })

  test.skipIf(llamaServerBinary === undefined)(`is given to a llama-server${llamaServerHint}`, async () => {
    expect(await shownBy('owner/found-by-name')).toMatchObject({
      prompt_template: 'found-by-name',
      prompt_template_content: expect.stringContaining('by name'),
    })
    const { status, json } = await call('/v1/chat/completions', {
      model: 'owner/found-by-name',
      messages: said('hi'),
      prompt_template: 'fixed',
    })
    expect([status, json.error.message]).toEqual([
      400,
      expect.stringContaining('renders conversations with its own chat template'),
    ])
  })
})
