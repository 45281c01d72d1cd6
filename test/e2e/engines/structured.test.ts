import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { randomSchema } from '../../support/hostile/random-schema.ts'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { randomModel } from '../../support/llama/models.ts'
import { roundsOf } from '../../support/process/soak-length.ts'
import { createRandom } from '../../support/random.ts'

let app: RunningApp
beforeAll(async () => {
  const shared = { engine: 'llama', source: await randomModel(), contextLength: 4096, threads: 1, slots: 2 } as const
  app = await startApp({
    models: [
      { id: 'random', ...shared },
      { id: 'elements', ...shared, toolFormat: 'qwen3-coder' },
      { id: 'counted', ...shared, toolFormat: 'kimi-k2' },
      { id: 'hermes', ...shared, load: 'demand', toolFormat: 'hermes' },
      { id: 'lines', ...shared, load: 'demand', toolFormat: 'glm4' },
      { id: 'two-pass', ...shared, load: 'demand', toolFormat: 'hermes', toolStrategy: 'two-pass' },
    ],
  })
})
afterAll(() => app?.close())

type WireCall = {
  readonly index?: number
  readonly id?: string
  readonly function: { readonly name?: string; readonly arguments?: string }
}
type WireChoice = {
  readonly index: number
  readonly finish_reason: string | null
  readonly message: { readonly content: string | null; readonly tool_calls?: readonly WireCall[] }
  readonly delta: { readonly content?: string | null; readonly tool_calls?: readonly WireCall[] }
}
type WireError = { readonly message: string; readonly param: string | null; readonly code: string }
type Reply = { readonly choices: readonly WireChoice[]; readonly error?: WireError }

const around = { model: 'random', messages: [{ role: 'user', content: 'Go on.' }], temperature: 1, max_tokens: 600 }

function post(body: object): Promise<Response> {
  return fetch(`${app.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...around, ...body }),
  })
}

async function ask(body: object): Promise<Reply & { readonly status: number; readonly structured: string | null }> {
  const response = await post(body)
  const reply = (await response.json()) as Reply
  return { ...reply, status: response.status, structured: response.headers.get('x-dragoman-structured') }
}

async function readStream(body: object): Promise<{ readonly events: readonly Reply[]; readonly structured: string | null }> {
  const response = await post({ ...body, stream: true })
  const data = (await response.text()).split('\n').filter((line) => line.startsWith('data: ') && line !== 'data: [DONE]')
  return { events: data.map((line) => JSON.parse(line.slice(6))), structured: response.headers.get('x-dragoman-structured') }
}

const bySchema = (schema: unknown, strict = false) => ({
  response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict } },
})

type Sample = { readonly name: string; readonly schema: unknown }

const folder = new URL('../../../../shared/vectors/json-schema/', import.meta.url)
const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : []
const suite: Sample[] = files.flatMap((file) =>
  (JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as { description: string; schema: unknown }[]).map(
    ({ description, schema }) => ({ name: `${file}: ${description}`, schema }),
  ),
)

function samples(count: number): readonly Sample[] {
  const random = createRandom(5)
  const chosen = suite.filter(({ schema }) => !JSON.stringify(schema).includes('__proto__')).filter((_, index) => index % 2 === 0)
  const made = Array.from({ length: count }, (_, index) => ({ name: `made ${index}`, schema: randomSchema(random) }))
  return [...chosen, ...made].slice(0, count)
}

/** Ajv's judgement, where it has one that counts: it resolves `$dynamicRef` otherwise, and mixes up `items` in an `anyOf`. */
function judge({ name, schema }: Sample): ValidateFunction | undefined {
  if (name.startsWith('dynamicRef.json') || name.includes('unevaluatedItems with nested items')) return undefined
  const ajv = new Ajv2020({ strict: false, logger: false, ownProperties: true })
  addFormats.default(ajv)
  try {
    return ajv.compile(schema as object | boolean)
  } catch {
    return undefined
  }
}

describe('output constraints under random weights', () => {
  test('complete output of many schemas is valid JSON, and satisfies the schema where that is promised', {
    timeout: 300_000,
  }, async () => {
    const counts = { full: 0, validated: 0, partial: 0, refused: 0, invalid: 0, cut: 0 }
    const wrong: string[] = []
    const count = roundsOf(50, 300)
    for (const sample of samples(count)) {
      const { status, structured, choices, error } = await ask({ seed: 1, ...bySchema(sample.schema) })
      if (status !== 200) {
        const isNamed = error?.param?.startsWith('response_format.json_schema.schema') === true
        if (status === 400 && isNamed) counts.refused += 1
        else if (status === 502 && error?.code === 'invalid_output') counts.invalid += 1
        else wrong.push(`${sample.name}: ${status} ${JSON.stringify(error)}`)
        continue
      }
      const [choice] = choices
      if (choice?.finish_reason === 'length') {
        counts.cut += 1
        continue
      }
      const content = choice?.message.content ?? ''
      if (structured === 'full' || structured === 'validated' || structured === 'partial') counts[structured] += 1
      else wrong.push(`${sample.name}: x-dragoman-structured ${structured}`)
      try {
        const isValid = structured === 'partial' || judge(sample)?.(JSON.parse(content)) !== false
        if (!isValid || choice?.finish_reason !== 'stop') wrong.push(`${sample.name}: ${content}`)
        JSON.parse(content)
      } catch {
        wrong.push(`${sample.name}: not JSON: ${content}`)
      }
    }
    if (process.env.SHOW !== undefined) console.log(counts)
    expect(wrong).toEqual([])
    // Unbounded strings are truncated: random weights seldom write a quotation mark.
    expect(counts.cut).toBeLessThan(0.12 * count)
    expect(counts.refused).toBeLessThan(0.15 * count)
    expect(counts.full).toBeGreaterThan(0.5 * count)
  })

  test('an object, a pattern and a grammar hold, in streams and for every choice', async () => {
    const holds: [object, (text: string) => boolean][] = [
      [{ response_format: { type: 'json_object' } }, (text) => JSON.parse(text) !== null && text.startsWith('{')],
      [{ regex_pattern: '[a-c]{3}-\\d{1,4}' }, (text) => /^[a-c]{3}-\d{1,4}$/.test(text)],
      [{ grammar: 'root ::= ("yes" | "no") [!?]{1,2}' }, (text) => /^(yes|no)[!?]{1,2}$/.test(text)],
    ]
    for (const [wanted, isRight] of holds) {
      let finished = 0
      for (let seed = 0; seed < roundsOf(2, 4); seed++) {
        const { choices, structured } = await ask({ ...wanted, seed, n: 2 })
        expect(structured).toBe('full')
        for (const { finish_reason, message } of choices) {
          if (finish_reason !== 'stop') continue
          finished += 1
          expect(isRight(message.content ?? ''), message.content ?? '').toBe(true)
        }
      }
      expect(finished).toBeGreaterThan(roundsOf(1, 2))
      const { events, structured } = await readStream({ ...wanted, seed: 1 })
      expect(structured).toBe('full')
      const text = events.map(({ choices }) => choices[0]?.delta.content ?? '').join('')
      if (events.at(-1)?.choices[0]?.finish_reason === 'stop') expect(isRight(text), text).toBe(true)
    }
  })

  test('output that the grammar allows and the schema does not is an error', async () => {
    const impossible = { type: 'array', items: { enum: ['a', 'b'] }, minItems: 3, maxItems: 3, uniqueItems: true }
    const whole = await ask(bySchema(impossible))
    expect(whole).toMatchObject({ status: 502, error: { code: 'invalid_output', message: expect.stringContaining('duplicate') } })
    const { events, structured } = await readStream(bySchema(impossible))
    expect(structured).toBe('validated')
    expect(events.at(-1)).toMatchObject({ error: { code: 'invalid_output' } })
    expect(events.some(({ choices }) => choices?.some(({ finish_reason }) => finish_reason === 'stop'))).toBe(false)
    const param = 'response_format.json_schema.schema.uniqueItems'
    expect(await ask(bySchema(impossible, true))).toMatchObject({ status: 400, error: { param } })
  })

  test('a pattern that would take a matcher years takes a second, and the server answers meanwhile', async () => {
    const schema = {
      type: 'array',
      items: { enum: ['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'], pattern: '^(?:(a+)+\\b)+$' },
      uniqueItems: true,
    }
    const [slow, health] = await Promise.all([ask(bySchema(schema)), fetch(`${app.url}/health`)])
    expect([200, 400, 502]).toContain(slow.status)
    expect(health.status).toBe(200)
  })
})

const tools = [
  {
    name: 'book',
    parameters: {
      type: 'object',
      properties: {
        from: { $ref: '#/$defs/airport' },
        seat: { enum: ['aisle', 'window'] },
        note: { type: ['string', 'null'], maxLength: 20 },
        days: { type: 'array', items: { type: 'integer', minimum: 1, maximum: 31 }, minItems: 1, maxItems: 3 },
      },
      required: ['from', 'seat', 'days'],
      additionalProperties: false,
      $defs: { airport: { type: 'string', pattern: '^[A-Z]{3}$' } },
    },
  },
  { name: 'now', parameters: { type: 'object', properties: {}, additionalProperties: false } },
]
const declared = tools.map((tool) => ({ type: 'function', function: tool }))
const validators = new Map(tools.map(({ name, parameters }) => [name, new Ajv2020({ strict: false }).compile(parameters)]))

/** Every call is complete and valid. */
function expectCalls(choices: readonly { readonly finish_reason: string | null; readonly calls: readonly WireCall[] }[]): void {
  for (const { finish_reason, calls } of choices) {
    expect(finish_reason).toBe('tool_calls')
    expect(calls.length).toBeGreaterThan(0)
    expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length)
    for (const { function: called } of calls) {
      const isValid = validators.get(called.name ?? '')?.(JSON.parse(called.arguments ?? ''))
      expect(isValid, `${called.name} ${called.arguments}`).toBe(true)
    }
  }
}

async function streamCalls(body: object): Promise<{ finish_reason: string | null; calls: WireCall[]; content: string }[]> {
  const { events } = await readStream(body)
  const choices: {
    finish_reason: string | null
    calls: { id: string; function: { name: string; arguments: string } }[]
    content: string
  }[] = []
  for (const { index, delta, finish_reason } of events.flatMap((event) => event.choices)) {
    choices[index] ??= { finish_reason: null, calls: [], content: '' }
    const choice = choices[index]
    choice.finish_reason ??= finish_reason
    choice.content += delta.content ?? ''
    for (const call of delta.tool_calls ?? []) {
      choice.calls[call.index ?? 0] ??= { id: call.id ?? '', function: { name: call.function.name ?? '', arguments: '' } }
      const whole = choice.calls[call.index ?? 0]
      if (whole !== undefined) whole.function.arguments += call.function.arguments ?? ''
    }
  }
  return choices
}

describe.each(['random', 'elements', 'counted'])('required calls under random weights (%s)', (model) => {
  const forced = { model, tools: declared, max_tokens: 1500 }
  const named = { type: 'function', function: { name: 'book' } }

  test('are valid, also two choices of them, whole and in streams', async () => {
    let several = 0
    for (let seed = 0; seed < roundsOf(1, 3); seed++) {
      for (const tool_choice of ['required', named]) {
        const { choices } = await ask({ ...forced, tool_choice, seed, n: 2 })
        expect(choices).toHaveLength(2)
        expectCalls(choices.map(({ finish_reason, message }) => ({ finish_reason, calls: message.tool_calls ?? [] })))
        expect(choices.map(({ message }) => message.content)).toEqual([null, null])
        if (choices.some(({ message }) => (message.tool_calls ?? []).length > 1)) several += 1
        const names = new Set(choices.flatMap(({ message }) => (message.tool_calls ?? []).map((call) => call.function.name)))
        if (tool_choice === named) expect([...names]).toEqual(['book'])

        const streamed = await streamCalls({ ...forced, tool_choice, seed, n: 2 })
        expectCalls(streamed)
        expect(streamed.map(({ content }) => content)).toEqual(['', ''])
        const whole = choices.map(({ message }) => (message.tool_calls ?? []).map((call) => call.function))
        expect(streamed.map(({ calls }) => calls.map((call) => call.function))).toEqual(whole)
      }
    }
    expect(several).toBeGreaterThan(0)
  })

  test('are exactly one where parallel calls are switched off', async () => {
    for (let seed = 0; seed < roundsOf(2, 4); seed++) {
      const body = { ...forced, tool_choice: 'required', parallel_tool_calls: false, seed }
      const { choices } = await ask(body)
      expectCalls(choices.map(({ finish_reason, message }) => ({ finish_reason, calls: message.tool_calls ?? [] })))
      expect(choices[0]?.message.tool_calls).toHaveLength(1)
      expect((await streamCalls(body))[0]?.calls).toHaveLength(1)
    }
  })
})

describe.each(['hermes', 'elements', 'lines', 'two-pass'])('optional calls (%s)', (model) => {
  const strict = model !== 'two-pass'
  const chosen = declared.map(({ type, function: tool }) => ({ type, function: strict ? { ...tool, strict } : tool }))

  /** Makes the tokens of the marks that calls begin with likelier, and the end of the turn. */
  async function likelyCalls(): Promise<Record<string, number>> {
    const bias: Record<string, number> = {}
    for (const mark of model === 'lines' ? ['now', '\n'] : ['<tool_call>']) {
      const response = await fetch(`${app.url}/v1/token/encode`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model, text: mark, add_bos_token: false, encode_special_tokens: true }),
      })
      const { tokens } = (await response.json()) as { tokens: number[] }
      for (const token of tokens) bias[token] = tokens.length === 1 ? 12 : 6
    }
    return bias
  }

  test('satisfy the schemas of their tools, with text around them, for every choice, whole and in streams', async () => {
    const logit_bias = await likelyCalls()
    const counts = { calls: 0, texts: 0 }
    for (let seed = 0; seed < roundsOf(2, 3); seed++) {
      const body = { model, tools: chosen, seed, n: 2, logit_bias, max_tokens: 250 }
      const { choices, status, error } = await ask(body)
      expect(status, error?.message).toBe(200)
      const streamed = await streamCalls(body)
      for (const { index, message, finish_reason } of choices) {
        const calls = (message.tool_calls ?? []).map((call) => call.function)
        const whole = finish_reason === 'length' ? calls.slice(0, -1) : calls
        counts.calls += whole.length
        counts.texts += (message.content ?? '') === '' ? 0 : 1
        for (const called of whole) {
          const isValid = validators.get(called.name ?? '')?.(JSON.parse(called.arguments ?? ''))
          expect(isValid, `${called.name} ${called.arguments}`).toBe(true)
        }
        expect(streamed[index]?.calls.map((call) => call.function)).toEqual(calls)
        expect(streamed[index]?.content).toBe(message.content ?? '')
      }
    }
    if (process.env.SHOW !== undefined) console.log(model, counts)
    expect(counts.texts).toBeGreaterThan(1)
    expect(counts.calls).toBeGreaterThan(5)
  })
})

describe('a model whose template does not show tools', () => {
  const post = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${app.url}${path}`, { method: 'POST', headers, body: JSON.stringify({ ...around, ...body }) })
    return (await response.json()) as { prompt: string; usage: { prompt_tokens: number } }
  }

  test('gets them and earlier calls in the prompt, as /apply-template shows', async () => {
    const call = { id: 'a', type: 'function', function: { name: 'now', arguments: '{}' } }
    const messages = [
      { role: 'user', content: 'What time is it?' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'a', content: 'noon' },
    ]
    const { prompt } = await post('/apply-template', { model: 'hermes', tools: declared, messages })
    expect(prompt).toContain('<|im_start|>system\nThere are functions that you can call.')
    expect(prompt).toContain(JSON.stringify(tools[0]))
    expect(prompt).toContain('<|im_start|>assistant\n<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call><|im_end|>')
    expect(prompt).toContain('<|im_start|>user\n{"tool_result":{"name":"now","content":"noon"}}<|im_end|>')

    const sizes = [declared, []].map(async (given) => (await post('/v1/chat/completions', { tools: given, max_tokens: 1 })).usage)
    const [withTools, without] = await Promise.all(sizes)
    expect(withTools?.prompt_tokens).toBeGreaterThan((without?.prompt_tokens ?? 0) + 100)
  })
})
