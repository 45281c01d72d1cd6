import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'

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
  const templates = { fixed, thinking }
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
    models: [{ ...tiny, engine: 'llama', id: 'tiny' }],
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
