import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { builtinModel } from '../../../src/registry/names/builtin-model.ts'
import { type RunningApp, startApp, until } from '../../support/http/app.ts'
import { builtProgram } from '../../support/process/built-program.ts'

const getWeather = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Get the current weather in a city.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
} as const
const sendMessage = {
  type: 'function',
  function: {
    name: 'send_message',
    description: 'Send a text message to a person.',
    parameters: {
      type: 'object',
      properties: { recipient: { type: 'string' }, text: { type: 'string' } },
      required: ['recipient', 'text'],
    },
  },
} as const

describe('dragoman-tiny', () => {
  let app: RunningApp
  let client: OpenAI
  beforeAll(async () => {
    app = await startApp({
      models: [{ id: 'tiny', engine: 'llama', source: builtinModel.path, threads: 1, defaults: { temperature: 0 } }],
    })
    client = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: 'unused', maxRetries: 0 })
  })
  afterAll(() => app?.close())

  const ask = async (content: string, options: object = {}) => {
    const reply = await client.chat.completions.create({ model: 'tiny', messages: [{ role: 'user', content }], ...options })
    const choice = (reply as OpenAI.ChatCompletion).choices[0]
    if (choice === undefined) throw new Error('no choice')
    return { ...choice.message, finish: choice.finish_reason }
  }

  test('greets, says what it is, and ends by itself', async () => {
    expect(await ask('Hello')).toMatchObject({ content: expect.stringMatching(/hello/i), finish: 'stop' })
    expect((await ask('Who are you?')).content).toContain('Dragoman Tiny')
  })

  test('reads the control tokens of a prompt that its caller wrote, as SillyTavern does', async () => {
    const prompt = '<|im_start|>user\nWho are you?<|im_end|>\n<|im_start|>assistant\n'
    const { choices, usage } = await client.completions.create({ model: 'tiny', prompt, max_tokens: 60 })
    expect(choices[0]?.text).toBe((await ask('Who are you?')).content)
    expect(usage?.prompt_tokens).toBeLessThan(20)
  })

  test('a request whose bans and constraint leave no token fails alone', async () => {
    const everything = Array.from({ length: 2560 }, (_, token) => token)
    const other = ask('Who are you?')
    const url = `${app.url}/v1/chat/completions`
    const messages = [{ role: 'user', content: 'hi' }]
    const body = JSON.stringify({ model: 'tiny', messages, guided_choice: ['red'], banned_tokens: everything, max_tokens: 5 })
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { message: expect.stringContaining('contradict each other') } },
    ])
    expect((await other).content).toContain('Dragoman Tiny')
    expect((await ask('Who are you?')).content).toContain('Dragoman Tiny')
  })

  test('calls the right tool with the words of the user, and answers from its result', async () => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'What is the weather in Zanzibar?' }]
    const tools = [sendMessage, getWeather]
    const first = await client.chat.completions.create({ model: 'tiny', messages, tools })
    const call = first.choices[0]?.message.tool_calls?.[0]
    expect(first.choices[0]?.finish_reason).toBe('tool_calls')
    expect(call).toMatchObject({ type: 'function', function: { name: 'get_weather', arguments: '{"city": "Zanzibar"}' } })
    messages.push({ role: 'assistant', content: null, tool_calls: first.choices[0]?.message.tool_calls ?? [] })
    messages.push({ role: 'tool', tool_call_id: call?.id ?? '', content: '{"temperature": 31, "condition": "sunny"}' })
    const second = await client.chat.completions.create({ model: 'tiny', messages, tools })
    expect(second.choices[0]?.message.content).toMatch(/31.*sunny|sunny.*31/)
    expect(second.choices[0]?.finish_reason).toBe('stop')
  })

  const weatherTool = (asked: string[]) =>
    tool({
      description: getWeather.function.description,
      inputSchema: jsonSchema<{ city: string }>(getWeather.function.parameters as object),
      execute: ({ city }) => {
        asked.push(city)
        return { temperature: 31, condition: 'sunny' }
      },
    })

  test('the AI SDK runs the whole round trip: call, result, answer; streamed or not', async () => {
    const model = createOpenAICompatible({ name: 'dragoman', baseURL: `${app.url}/v1`, includeUsage: true })('tiny')
    const asked: string[] = []
    const options = {
      model,
      tools: { get_weather: weatherTool(asked) },
      stopWhen: stepCountIs(3),
      prompt: 'What is the weather in Berlin?',
    }
    const whole = await generateText(options)
    expect(whole.text).toMatch(/31.*sunny/)
    const streamed = streamText(options)
    let text = ''
    for await (const delta of streamed.textStream) text += delta
    expect(text).toBe(whole.text)
    expect(asked).toEqual(['Berlin', 'Berlin'])
  })

  test.each([1, 2, 3])('a demanded call that is cut off after %i tokens, before its name, says nothing', async (max_tokens) => {
    const reply = await ask('What is the weather in Rome?', { tools: [getWeather], tool_choice: 'required', max_tokens })
    expect(reply).toMatchObject({ content: '', finish: 'length' })
    expect(reply.tool_calls).toBeUndefined()
  })

  test('calls nothing when no tool fits', async () => {
    const { tool_calls, content } = await ask('Hello there!', { tools: [sendMessage, getWeather] })
    expect(tool_calls).toBeUndefined()
    expect(content).not.toBe('')
  })

  test('a strict tool is called by its schema when the model begins a call of its own accord', async () => {
    const strict = (kind: readonly string[]) => ({
      type: 'function' as const,
      function: {
        ...getWeather.function,
        strict: true,
        parameters: { ...getWeather.function.parameters, properties: { city: { enum: kind } }, additionalProperties: false },
      },
    })
    const cityOf = (call: OpenAI.ChatCompletionMessageToolCall | undefined) =>
      call?.type === 'function' ? JSON.parse(call.function.arguments).city : undefined
    const question = 'What is the weather in Zanzibar?'
    const free = await ask(question, { tools: [getWeather, sendMessage] })
    expect(free.tool_calls?.[0]).toMatchObject({ function: { name: 'get_weather' } })
    const bound = await ask(question, { tools: [strict(['Oslo', 'Lima']), sendMessage] })
    expect(bound.finish).toBe('tool_calls')
    expect(['Oslo', 'Lima']).toContain(cityOf(bound.tool_calls?.[0]))
    expect((await ask('Hello', { tools: [strict(['Oslo'])] })).finish).toBe('stop')
  })

  test('thinks when it is asked to, and only then', async () => {
    const thinking = await ask('What is the capital of France?', { chat_template_kwargs: { enable_thinking: true } })
    expect(thinking).toMatchObject({ reasoning_content: expect.stringMatching(/\w/), content: expect.stringContaining('Paris') })
    const plain = await ask('What is the capital of France?')
    expect(plain).toMatchObject({ reasoning_content: null })
    expect(plain.content).toContain('Paris')
  })

  test.each([
    { guided_choice: ['red', 'green'] },
    { regex_pattern: '(red|green)' },
    { grammar_string: 'root ::= "red" | "green"' },
  ])('a constraint does not make it think: %j', async (constraint) => {
    const message = await ask('Which colour has grass?', { ...constraint, max_tokens: 5 })
    expect(message).toMatchObject({ content: expect.stringMatching(/^(red|green)$/) })
    expect(message).toMatchObject({ reasoning_content: null })
  })
})

describe('where no other model can be had', () => {
  const unreachable = 'http://127.0.0.1:9'
  let home: string
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'dragoman-builtin-'))
    await writeFile(join(home, 'dragoman.yaml'), 'server: { port: 0 }\n')
  })
  afterAll(() => rm(home, { recursive: true, force: true }))

  function start(args: readonly string[]): {
    child: ChildProcess
    out: () => string
    err: () => string
    ended: Promise<unknown>
  } {
    const child = spawn(process.execPath, [builtProgram, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        DRAGOMAN_HOME: home,
        DRAGOMAN_SERVER: unreachable,
        HF_ENDPOINT: unreachable,
        PIP_INDEX_URL: `${unreachable}/simple`,
        PIP_RETRIES: '0',
      },
    })
    const texts = { out: '', err: '' }
    child.stdout.on('data', (piece) => {
      texts.out += piece
    })
    child.stderr.on('data', (piece) => {
      texts.err += piece
    })
    return { child, out: () => texts.out, err: () => texts.err, ended: new Promise((resolve) => child.once('close', resolve)) }
  }

  test('the server is ready all the same, says what answers, and a request for the default model is answered', async () => {
    const server = start(['serve', '--config', join(home, 'dragoman.yaml')])
    try {
      await until(() => server.out().includes('listening on'))
      const url = /http\S+/.exec(server.out())?.[0] ?? ''
      const body = JSON.stringify({ model: 'default', messages: [{ role: 'user', content: 'Hello' }] })
      const ask = async () => {
        const reply = await fetch(`${url}/v1/chat/completions`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body,
        })
        return (await reply.json()) as OpenAI.ChatCompletion
      }
      await until(() => server.err().includes('until it is ready, dragoman-tiny serves default'))
      expect(await ask()).toMatchObject({ model: 'dragoman-tiny', choices: [{ finish_reason: 'stop' }] })
      await until(async () => (await fetch(`${url}/ready`)).status === 200)
      expect(server.err()).toContain(
        'dragoman-tiny, which comes with Dragoman, answers as default instead: the file was not fetched. Tried:',
      )
      await until(() => server.err().includes('"model":"dragoman-tiny"'))
      expect(await ask()).toMatchObject({ model: 'dragoman-tiny' })
    } finally {
      server.child.kill('SIGTERM')
      await server.ended
    }
  })

  test('`dragoman run dragoman-tiny` answers', async () => {
    const command = start(['run', 'dragoman-tiny', 'Hello'])
    expect(await command.ended).toBe(0)
    expect(command.out()).toMatch(/hello/i)
  })
})
