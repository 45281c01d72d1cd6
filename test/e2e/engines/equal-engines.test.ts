import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type History, histories } from '../../../src/model-text/template/__fixtures__/histories.ts'
import { oddSchemas } from '../../../src/model-text/template/__fixtures__/odd-schemas.ts'
import { type AsBody, asChat, asMessages, asResponses } from '../../support/conversations/as-bodies.ts'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { llamaServerBinary } from '../../support/llama/llama-server.ts'
import { readLlamaTemplates } from '../../support/llama/llama-templates.ts'
import { text } from '../../support/parts.ts'

/** `npm run equal-engines` tries all templates, conversations and schemas, in an hour. CI tries those that refuse most, and a part. */
const isWhole = process.env.EQUAL_ENGINES === 'all'
const strict = ['Qwen3.5-4B', 'google-gemma-2-2b-it', 'openai-gpt-oss-120b']
const templates = [...(readLlamaTemplates() ?? [])].filter(([name]) => isWhole || strict.some((start) => name.startsWith(start)))
const [everyNth, timeLimitMs] = isWhole ? [1, 3_600_000] : [25, 300_000]

const protocols: readonly AsBody[] = [asChat, asMessages, asResponses]
const schemaHistories = oddSchemas.map((parameters, index): History => {
  const tool = { name: 'find_boat', description: 'Finds one.', ...(parameters !== undefined && { parameters }) }
  return { name: `a tool with schema ${index}`, messages: [{ role: 'user', content: [text('Usr1')] }], tools: [tool] }
})
const conversations = [...histories, ...schemaHistories]

const hint = llamaServerBinary === undefined ? ' (skipped: `npm run llama-server` builds one)' : ''
describe.skipIf(llamaServerBinary === undefined || templates.length === 0)(`what one engine takes, all take${hint}`, () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dragoman-equal-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  /** Absent: the model's own template. */
  async function startEngines(source?: string): Promise<{ app: RunningApp; models: string[] }> {
    const [file, script] = [join(folder, 'template.jinja'), join(folder, 'script.json')]
    await writeFile(script, JSON.stringify([{ reply: { raw: 'Hello.' } }]))
    if (source !== undefined) await writeFile(file, source)
    const template = source === undefined ? {} : { chatTemplate: file }
    const tiny = { source: 'builtin:dragoman-tiny.gguf', contextLength: 8192, threads: 1, ...template } as const
    const models = [
      { id: 'embedded', engine: 'llama', slots: 2, ...tiny },
      { id: 'managed', engine: 'llama-server', binary: llamaServerBinary, slots: 2, ...tiny },
      { id: 'scripted', engine: 'fake', script, ...template },
    ]
    return { app: await startApp({ models: models as never }), models: models.map(({ id }) => id) }
  }

  test.each(templates)(
    'with the template of %s',
    async (_, source) => {
      const { app, models } = await startEngines(source)
      const faults: string[] = []
      try {
        for (const [index, history] of conversations.entries()) {
          for (const [offset, asBody] of protocols.entries()) {
            const request = asBody(history)
            if (request === undefined || (index + offset) % everyNth !== 0) continue
            for (const stream of isWhole ? [false, true] : [(index + offset) % 2 === 0]) {
              const body = { ...request.body, stream }
              const outcomes = await Promise.all(
                models.map((model) => outcomeOf(`${app.url}${request.path}`, { model, ...body })),
              )
              const isEqual = outcomes.every(({ status }) => status === outcomes[0]?.status && status < 500)
              if (!isEqual) faults.push(`${history.name} at ${request.path}: ${JSON.stringify(outcomes)}`)
            }
          }
        }
      } finally {
        await app.close()
      }
      expect(faults).toEqual([])
      // GigaChat's templates print 1,950 tokens in front of each conversation.
    },
    timeLimitMs,
  )

  test('an answer at the end is continued on request, and else a new turn follows it', async () => {
    const { app } = await startEngines(readLlamaTemplates()?.get('Qwen-Qwen3-0.6B.jinja') ?? '')
    const messages = [
      { role: 'user', content: 'Say hello.' },
      { role: 'assistant', content: 'The answer' },
    ]
    const promptTokens = async (model: string, more: object) => {
      const body = { model, messages, max_tokens: 1, ...more }
      const reply = await fetch(`${app.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      return ((await reply.json()) as { usage: { prompt_tokens: number } }).usage.prompt_tokens
    }
    try {
      for (const more of [{}, { continue_final_message: true, add_generation_prompt: false }]) {
        expect(await promptTokens('managed', more)).toBe(await promptTokens('embedded', more))
      }
    } finally {
      await app.close()
    }
  })

  test('unlikely answers to a question have the same probabilities', async () => {
    const { app } = await startEngines()
    const choices = Array.from({ length: 12 }, (_, index) => ({ value: `answer ${index}` }))
    const decide = async (model: string) => {
      const body = { model, input: 'The sea is calm.', questions: [{ type: 'choice', instructions: 'Which?', choices }] }
      const headers = { 'content-type': 'application/json' }
      const reply = await fetch(`${app.url}/v1/decisions`, { method: 'POST', headers, body: JSON.stringify(body) })
      const [answer] = ((await reply.json()) as { answers: readonly Decided[] }).answers
      return answer?.probabilities?.map(({ probability }) => Number(probability.toFixed(6)))
    }
    try {
      const embedded = await decide('embedded')
      expect(embedded?.filter((probability) => probability > 0)).toHaveLength(choices.length)
      expect(await decide('managed')).toEqual(embedded)
    } finally {
      await app.close()
    }
  })

  test('a call or thought is read alike, in a turn that is continued and beside a structure that was asked for', async () => {
    const { app } = await startEngines()
    const endpoints = [{ url: `${app.url}/v1` }]
    const behind = { engine: 'remote', endpoints, upstreamModel: 'embedded' } as const
    // Spoken to in texts, it gets prompts and grammars that are written here.
    const models = [
      { id: 'behind', ...behind },
      { id: 'texts', ...behind, protocol: 'completions' },
    ]
    const front = await startApp({ models: models as never })
    const parameters = { type: 'object', properties: { city: { enum: ['Oslo', 'Rome'] } }, required: ['city'] }
    const tools = [{ type: 'function', function: { name: 'get_weather', parameters } }]
    const schema = {
      type: 'object',
      properties: { sunny: { type: 'boolean' } },
      required: ['sunny'],
      additionalProperties: false,
    }
    const json = { response_format: { type: 'json_schema', json_schema: { name: 'sky', strict: true, schema } } }
    const begun = (content: string) => ({
      messages: [
        { role: 'user', content: 'Which weather in Oslo?' },
        { role: 'assistant', content },
      ],
      continue_final_message: true,
      add_generation_prompt: false,
    })
    const asked = { messages: [{ role: 'user', content: 'Which weather in Oslo?' }] }
    const read = async (body: { readonly model: string }) => {
      const { url } = models.some(({ id }) => id === body.model) ? front : app
      const reply = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ max_tokens: 60, temperature: 0, tools, ...body }),
      })
      const { choices, error } = (await reply.json()) as { choices?: readonly WireChoice[]; error?: unknown }
      const [choice] = choices ?? []
      const calls = choice?.message.tool_calls?.map((call) => call.function)
      const { content, reasoning_content: thought } = choice?.message ?? {}
      return { error, finish: choice?.finish_reason, calls, content, hasThought: (thought ?? '') !== '' }
    }
    const expectEqual = async (body: object) => {
      const wanted = await read({ model: 'embedded', ...body })
      for (const model of ['managed', ...models.map(({ id }) => id)]) {
        expect(await read({ model, ...body }), `${model}: ${JSON.stringify(body)}`).toEqual(wanted)
      }
    }
    try {
      for (const start of ['I look. ', 'I look.\n<tool_call>\n', '<think>Hm']) {
        for (const choice of ['auto', 'required', 'none']) {
          await expectEqual({ ...begun(start), tool_choice: choice })
        }
      }
      const required = { tool_choice: 'required' }
      const likely = { ...asked, logprobs: true }
      for (const body of [
        asked,
        { ...asked, ...required },
        likely,
        { ...likely, ...required },
        { ...begun('I look. '), ...required },
      ]) {
        await expectEqual({ ...body, ...json })
      }
      const strict = [{ type: 'function', function: { name: 'get_weather', strict: true, parameters } }]
      const grammar = { grammar: 'root ::= "yes" | "no"', ignore_eos: true, max_tokens: 8 }
      for (const more of [{ tools: strict, logprobs: true }, grammar, { tools: [], ...grammar }]) {
        await expectEqual({ ...asked, ...more })
      }
    } finally {
      await front.close()
      await app.close()
    }
  })
})

type Decided = { readonly probabilities?: readonly { readonly probability: number }[] }
type WireChoice = {
  readonly finish_reason: string
  readonly message: {
    readonly content: string | null
    readonly reasoning_content: string | null
    readonly tool_calls?: readonly { readonly function: unknown }[]
  }
}

/** The status, also of an error that ends a stream, and what was wrong. */
async function outcomeOf(url: string, body: object): Promise<{ status: number; said?: string }> {
  const reply = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const said = await reply.text()
  const isError = reply.status !== 200 || /"error":\s*\{|event: error|"type":"response.failed"/.test(said)
  if (!isError) return { status: 200 }
  return { status: reply.status === 200 ? 500 : reply.status, said: said.slice(-300) }
}
