import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ProfileName, Protocol } from '../src/engine/remote/servers/profile.ts'
import { profileIn } from '../src/engine/remote/servers/protocols.ts'
import { type RunningApp, startApp } from './support/http/app.ts'
import { droppingUpstream } from './support/upstream/dropping-upstream.ts'
import { type ScriptedUpstream, startUpstream } from './support/upstream/upstream.ts'

/** How servers are spoken to. */
const ways: readonly (readonly [ProfileName, Protocol])[] = [
  ['vllm', 'chat'],
  ['sglang', 'chat'],
  ['llama-server', 'chat'],
  ['ollama', 'chat'],
  ['tgi', 'chat'],
  ['dragoman', 'chat'],
  ['together', 'chat'],
  ['fireworks', 'chat'],
  ['groq', 'chat'],
  ['openai', 'chat'],
  ['openai', 'responses'],
  ['dragoman', 'responses'],
  ['anthropic', 'messages'],
  ['dragoman', 'messages'],
  ['vllm', 'completions'],
  ['llama-server', 'completions'],
]

const prose = "I'm glad that you asked END of it all."
const { state, answer } = droppingUpstream({ conforming: '', prose })
let folder: string
let upstream: ScriptedUpstream
let app: RunningApp

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-dropped-'))
  const chatTemplate = join(folder, 'template.jinja')
  await writeFile(
    chatTemplate,
    '{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}{% for t in tools or [] %}{{ t }}{% endfor %}',
  )
  upstream = await startUpstream(answer)
  const models = ways.map(([server, protocol]) => ({
    id: `${server}-${protocol}`,
    engine: 'remote' as const,
    endpoints: [{ url: upstream.url }],
    upstreamModel: 'up',
    probe: false,
    server,
    protocol,
    ...(protocol === 'completions' && { chatTemplate }),
  }))
  app = await startApp({ builtinModel: false, models })
})

afterAll(async () => {
  await app.close()
  await upstream.close()
  await rm(folder, { recursive: true })
})

type Reply = {
  readonly status: number
  readonly structured: string | null
  readonly text: string
  readonly finish: string | undefined
  readonly error: { readonly code?: string; readonly param?: string } | undefined
  readonly last: { readonly choices?: readonly Choice[] }
}
type Choice = {
  readonly message?: { readonly content: string | null }
  readonly delta?: { readonly content?: string }
  readonly finish_reason?: string | null
  readonly logprobs?: unknown
}

/** Asks while the upstream drops these fields. */
async function ask(body: object, dropped: readonly string[] = [], path = '/v1/chat/completions'): Promise<Reply> {
  state.dropped = dropped
  const messages = [{ role: 'user', content: 'hi' }]
  const response = await fetch(app.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...(/messages|chat/.test(path) && { messages }), ...body }),
  })
  const raw = await response.text()
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  const events = isStream ? [...raw.matchAll(/^data: (\{.*\})$/gm)].map(([, json]) => JSON.parse(json ?? '')) : [JSON.parse(raw)]
  const choices: Choice[] = events.flatMap(({ choices = [] }) => choices)
  return {
    status: response.status,
    structured: response.headers.get('x-dragoman-structured'),
    text: choices.map(({ message, delta }) => message?.content ?? delta?.content ?? '').join(''),
    finish: choices.findLast(({ finish_reason }) => finish_reason)?.finish_reason ?? undefined,
    error: events.find(({ error }) => error)?.error,
    last: events.at(-1),
  }
}

const schema = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'], additionalProperties: false }
const format = { type: 'json_schema', json_schema: { name: 'n', schema } }
/** A constraint, the text that keeps it, and which servers take it. */
const constraints = [
  ['a schema', { response_format: format }, '{"a": 1}', 'jsonSchema'],
  ['JSON mode', { response_format: { type: 'json_object' } }, '{"b": [2]}', 'jsonObject'],
  ['a regular expression', { regex: '[a-c]{2,4}' }, 'cab', 'regex'],
  ['a grammar', { grammar: 'root ::= "ab" [c-e]+' }, 'abde', 'gbnf'],
] as const

const everything = ['response_format', 'structured_outputs', 'regex', 'ebnf', 'grammar', 'text', 'output_config']

describe.each(ways)('over %s, in %s', (kind, protocol) => {
  const model = `${kind}-${protocol}`
  const profile = profileIn(kind, protocol)
  const takes = (name: 'jsonSchema' | 'jsonObject' | 'regex' | 'gbnf') =>
    name === 'regex' && profile.takesOurGrammars === true ? profile.gbnf !== undefined : Boolean(profile[name])

  test.each(constraints.filter(([, , , name]) => takes(name)))(
    '%s is validated, whole and streamed',
    async (_, fields, conforming) => {
      state.conforming = conforming
      for (const stream of [false, true]) {
        const kept = await ask({ model, stream, ...fields })
        expect(kept).toMatchObject({ status: 200, structured: 'validated', text: conforming, finish: 'stop' })
      }
      const whole = await ask({ model, ...fields }, everything)
      expect(whole).toMatchObject({ status: 502, structured: null, error: { code: 'invalid_output' } })
      const streamed = await ask({ model, stream: true, ...fields }, everything)
      expect(streamed).toMatchObject({ status: 200, structured: 'validated', error: { code: 'invalid_output' } })
      expect(streamed.finish).toBeUndefined()
    },
  )

  test.each(constraints.filter(([, , , name]) => !takes(name)))('%s is refused by name', async (_, fields) => {
    expect(await ask({ model, ...fields })).toMatchObject({ status: 400, error: { param: expect.any(String) } })
  })

  test('a truncated output is not called validated', async () => {
    const reply = await ask({ model, response_format: format, max_tokens: 2 }, everything)
    expect(reply).toMatchObject({ status: 200, structured: 'partial', text: "I'm glad", finish: 'length' })
  })

  test('stop sequences end the answer, whole and streamed', async () => {
    for (const stream of [false, true]) {
      const { text, finish } = await ask({ model, stream, stop: ['END'] }, ['stop', 'stop_sequences'])
      expect([text, finish]).toEqual(["I'm glad that you asked ", 'stop'])
    }
  })

  test('the output limit ends the answer, whole and streamed', async () => {
    for (const stream of [false, true]) {
      const dropped = ['max_tokens', 'max_completion_tokens', 'max_output_tokens']
      const { text, finish } = await ask({ model, stream, max_tokens: 3 }, dropped)
      expect([text, finish]).toEqual(["I'm glad that", 'length'])
    }
  })

  const takesLogprobs = profile.logprobs
  test('log-probabilities are there, or the answer fails, or they are refused', async () => {
    for (const stream of [false, true]) {
      const wanted = { model, stream, logprobs: true, top_logprobs: 1 }
      if (!takesLogprobs) {
        expect(await ask(wanted)).toMatchObject({ status: 400, error: { param: 'logprobs' } })
        continue
      }
      const { text, last } = await ask({ ...wanted, stream: false })
      expect(text).toBe(prose)
      expect(last.choices?.[0]).toMatchObject({ logprobs: { content: { length: prose.split(' ').length } } })
      expect((await ask(wanted, ['logprobs', 'top_logprobs', 'include'])).error).toMatchObject({ param: 'logprobs' })
    }
  })

  test('a required call is made, or the answer fails, or it is refused', async () => {
    const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]
    const named = { type: 'function', function: { name: 'f' } }
    for (const tool_choice of ['required', named]) {
      for (const stream of [false, true]) {
        const { status, error } = await ask({ model, stream, tools, tool_choice }, ['tool_choice', 'grammar'])
        if (profile.toolChoice === 'none') expect([status, error?.param]).toEqual([400, 'tool_choice'])
        else expect(error).toMatchObject({ code: 'invalid_output', param: 'tool_choice' })
      }
    }
  })
})

/** The protocols in front: the path, and the body with the schema. */
const fronts = [
  ['/v1/responses', { input: 'hi', text: { format: { type: 'json_schema', name: 'n', schema } } }],
  ['/v1/messages', { max_tokens: 50, output_config: { format: { type: 'json_schema', schema } } }],
  ['/v1/completions', { prompt: 'hi', response_format: format }],
] as const

describe.each(fronts)('asked at %s', (path, body) => {
  const model = 'vllm-chat'

  test('an output is validated, whole and streamed', async () => {
    state.conforming = '{"a": 1}'
    for (const stream of [false, true]) {
      expect(await ask({ model, stream, ...body }, [], path)).toMatchObject({
        status: 200,
        structured: 'validated',
        error: undefined,
      })
    }
    expect(await ask({ model, ...body }, everything, path)).toMatchObject({ status: 502, structured: null })
    const streamed = await ask({ model, stream: true, ...body }, everything, path)
    expect(streamed).toMatchObject({ status: 200, structured: 'validated' })
    expect(JSON.stringify(streamed.last)).toContain('does not satisfy the schema')
  })

  test('a truncated output is not called validated', async () => {
    const limit = path === '/v1/responses' ? { max_output_tokens: 2 } : { max_tokens: 2 }
    expect(await ask({ model, ...body, ...limit }, everything, path)).toMatchObject({ status: 200, structured: 'partial' })
  })
})

test('the texts that end a turn end an answer for which a conversation was rendered here', async () => {
  const ended = droppingUpstream({ conforming: '', prose: 'ok<|im_end|> <|im_start|>user Go on.' })
  ended.state.dropped = ['stop']
  upstream.answer = ended.answer
  expect(await ask({ model: 'vllm-completions' })).toMatchObject({ text: 'ok', finish: 'stop' })
  upstream.answer = answer
})
