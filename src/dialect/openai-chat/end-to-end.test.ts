import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test } from 'vitest'
import { createTestServer, readAll, receive, sendChat } from '../../../test/support/http/test-server.ts'
import { createWireCheck } from '../../../test/support/wire-schema.ts'
import { createFakeEngine } from '../../engine/fake/engine.ts'

const checkReply = createWireCheck('OpenAIChatCompletion')
const checkChunk = createWireCheck('OpenAIChatCompletionChunk')
const chatTemplate = fileURLToPath(new URL('./__fixtures__/hermes.jinja', import.meta.url))

const weather = {
  type: 'function',
  function: { name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
}
const oneCall =
  '<think>\nIt asks for rain.\n</think>\n\nI look.\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
const otherCall = '\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome"}}\n</tool_call>'

type ChatCall = { id: string; type: string; function: { name: string; arguments: string } }
type Message = {
  content: string | null
  reasoning_content?: string | null
  reasoning?: string | null
  tool_calls?: ChatCall[]
  function_call?: ChatCall['function']
}
type Answer = { message: Message; finish_reason: string }

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()))
})

/** Asks a server whose model writes what the last user message says, in the way that its template teaches. */
async function ask(script: string | object, fields: object = {}): Promise<string> {
  const { listen, drain } = createTestServer({ engine: createFakeEngine({ script: 'from-request', chatTemplate }) })
  closers.push(() => drain(0))
  const content = JSON.stringify(typeof script === 'string' ? { raw: script } : script)
  const body = { model: 'default', messages: [{ role: 'user', content }], ...fields }
  return readAll(await receive(sendChat(await listen(), JSON.stringify(body))))
}

async function askWhole(script: string | object, fields: object = {}): Promise<{ choices: Answer[]; usage: object }> {
  const reply = JSON.parse(await ask(script, fields))
  checkReply(reply)
  return reply
}

/** The answer that a client puts together from a stream, as the SDKs do it. */
async function askStream(script: string | object, fields: object = {}): Promise<Answer> {
  const text = await ask(script, { ...fields, stream: true, stream_options: { include_usage: true } })
  const message: Message = { content: null }
  let finishReason = ''
  for (const [, json] of text.matchAll(/^data: (\{.*)$/gm)) {
    const chunk = JSON.parse(json ?? '')
    checkChunk(chunk)
    const [choice] = chunk.choices
    if (choice === undefined) continue
    finishReason = choice.finish_reason ?? finishReason
    const { role: _, ...delta } = choice.delta
    for (const name of ['content', 'reasoning_content', 'reasoning'] as const) {
      if (typeof delta[name] === 'string') message[name] = (message[name] ?? '') + delta[name]
      else if (delta[name] === null) message[name] ??= null
    }
    for (const { index, ...fragment } of delta.tool_calls ?? []) {
      message.tool_calls ??= []
      const known = message.tool_calls[index]
      if (known === undefined) message.tool_calls[index] = { ...fragment, function: { ...fragment.function } }
      else known.function.arguments += fragment.function.arguments
    }
    if (delta.function_call !== undefined) {
      message.function_call ??= { name: delta.function_call.name, arguments: '' }
      message.function_call.arguments += delta.function_call.arguments
    }
  }
  return { message, finish_reason: finishReason }
}

describe('tool calls, from the request to the wire', () => {
  test('a call is told with the reasoning and the text before it', async () => {
    const [answer] = (await askWhole(oneCall, { tools: [weather] })).choices
    expect(answer).toMatchObject({
      finish_reason: 'tool_calls',
      message: {
        reasoning_content: expect.stringContaining('It asks for rain.'),
        reasoning: expect.stringContaining('It asks for rain.'),
        content: expect.stringContaining('I look.'),
        tool_calls: [{ id: expect.stringMatching(/^call_/), type: 'function', function: { name: 'get_weather' } }],
      },
    })
    expect(JSON.parse(answer?.message.tool_calls?.[0]?.function.arguments ?? '')).toEqual({ city: 'Oslo' })
  })

  test('calls alone have a null content', async () => {
    const [answer] = (await askWhole(otherCall.trim(), { tools: [weather] })).choices
    expect(answer?.message.content).toBeNull()
  })

  test.each([oneCall, otherCall.trim(), oneCall + otherCall, 'just text'])(
    'a stream says the same as the whole reply, however it is cut: %j',
    async (raw) => {
      const [whole] = (await askWhole(raw, { tools: [weather] })).choices
      for (const size of [1, 3, 1000]) {
        const chunks = raw.match(new RegExp(`.{1,${size}}`, 'gs')) ?? []
        const streamed = await askStream({ chunks }, { tools: [weather] })
        expect(withoutIds(streamed)).toEqual(withoutIds({ ...whole, message: { ...whole?.message } } as Answer))
      }
    },
  )

  test('parallel calls have their own ids, and only the first is kept where one is asked for', async () => {
    const [both] = (await askWhole(oneCall + otherCall, { tools: [weather] })).choices
    const ids = both?.message.tool_calls?.map(({ id }) => id) ?? []
    expect(new Set(ids).size).toBe(2)
    const [one] = (await askWhole(oneCall + otherCall, { tools: [weather], parallel_tool_calls: false })).choices
    expect(one?.message.tool_calls).toHaveLength(1)
  })

  test('a call that was cut off finishes with length', async () => {
    const cut = oneCall.slice(0, -'"}}\n</tool_call>'.length)
    const [answer] = (await askWhole({ raw: cut, finish: 'length' }, { tools: [weather] })).choices
    expect(answer?.finish_reason).toBe('length')
  })

  test.each([{}, { tools: [weather], tool_choice: 'none' }])('with %j a call is text', async (fields) => {
    const [answer] = (await askWhole(otherCall.trim(), fields)).choices
    expect(answer).toMatchObject({ finish_reason: 'stop', message: { content: otherCall.trim() } })
    expect(answer?.message).not.toHaveProperty('tool_calls')
  })

  test('a deprecated function is called in the deprecated form, streamed and not', async () => {
    const functions = [weather.function]
    const [whole] = (await askWhole(oneCall, { functions })).choices
    expect(whole).toMatchObject({ finish_reason: 'function_call', message: { function_call: { name: 'get_weather' } } })
    expect(whole?.message).not.toHaveProperty('tool_calls')
    expect(await askStream(oneCall, { functions })).toMatchObject({
      finish_reason: 'function_call',
      message: { function_call: whole?.message.function_call },
    })
  })

  test('a round trip with calls, results and reasoning in the history is rendered', async () => {
    const [first] = (await askWhole(oneCall + otherCall, { tools: [weather] })).choices
    const [oslo, rome] = first?.message.tool_calls ?? []
    const messages = [
      { role: 'user', content: 'Where does it rain?' },
      { role: 'assistant', ...first?.message },
      { role: 'tool', tool_call_id: rome?.id, content: [{ type: 'text', text: 'dry' }] },
      { role: 'tool', tool_call_id: oslo?.id, content: null },
      { role: 'user', content: '{"raw": "In Oslo."}' },
    ]
    const [answer] = (await askWhole('', { tools: [weather], messages })).choices
    expect(answer).toMatchObject({ finish_reason: 'stop', message: { content: 'In Oslo.' } })
  })

  test('reasoning can be left out', async () => {
    const [answer] = (await askWhole(oneCall, { tools: [weather], include_reasoning: false })).choices
    expect(Object.keys(answer?.message ?? {}).sort()).toEqual(['content', 'refusal', 'role', 'tool_calls'])
  })
})

describe('log-probabilities and choices, from the request to the wire', () => {
  type Scored = { index: number; logprobs: { content: { token: string }[] } | null }
  const chunks = (oneCall + otherCall).match(/.{1,7}/gs) ?? []

  /** The tokens of every choice of a reply, or of all chunks of a stream. */
  const tokensOf = (choices: readonly Scored[], index = 0): string[] =>
    choices
      .filter((choice) => choice.index === index)
      .flatMap(({ logprobs }) => logprobs?.content.map(({ token }) => token) ?? [])

  test('every token is told exactly once, also those of marks, reasoning and calls', async () => {
    const fields = { tools: [weather], logprobs: true, top_logprobs: 1 }
    const { choices } = (await askWhole({ chunks }, fields)) as unknown as { choices: Scored[] }
    expect(tokensOf(choices)).toEqual(chunks)
    const text = await ask({ chunks }, { ...fields, stream: true })
    const streamed = [...text.matchAll(/^data: (\{.*)$/gm)].flatMap(([, json]): Scored[] => {
      const chunk = JSON.parse(json ?? '')
      checkChunk(chunk)
      return chunk.choices
    })
    expect(tokensOf(streamed)).toEqual(chunks)
  })

  test('several choices have each their own call, and the usage is counted once', async () => {
    const reply = await askWhole({ chunks }, { tools: [weather], n: 3 })
    expect(reply.choices.map(({ finish_reason, message }) => [finish_reason, message.tool_calls?.length])).toEqual([
      ['tool_calls', 2],
      ['tool_calls', 2],
      ['tool_calls', 2],
    ])
    const single = (await askWhole({ chunks }, { tools: [weather] })).usage as {
      prompt_tokens: number
      completion_tokens: number
    }
    expect(reply.usage).toMatchObject({
      prompt_tokens: single.prompt_tokens,
      completion_tokens: 3 * single.completion_tokens,
    })
  })
})

/** Ids are made anew for every reply, and a stream has no place for a refusal that is null. */
function withoutIds({ message, ...rest }: Answer): object {
  const { refusal: _, role: __, ...fields } = message as Message & { refusal?: null; role?: string }
  const calls = fields.tool_calls?.map(({ id: _, ...call }) => call)
  return { finish_reason: rest.finish_reason, ...fields, content: fields.content ?? '', ...(calls && { tool_calls: calls }) }
}
