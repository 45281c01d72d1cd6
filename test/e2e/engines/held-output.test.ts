import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { builtinModel } from '../../../src/registry/names/builtin-model.ts'
import { type RunningApp, startApp } from '../../support/http/app.ts'

const headers = { 'content-type': 'application/json' }
const prompt = 'The weather in Rome is fine, and tea is warm. The'
const messages = [{ role: 'user', content: 'Tell me about tea.' }]
/** What is chosen is what is most probable, so that outputs differ by what is asked for only. */
const greedy = { temperature: 0, seed: 1 }

describe('what an output is kept from, on the embedded engine', () => {
  let app: RunningApp
  beforeAll(async () => {
    const model = { id: 'tiny', engine: 'llama', source: builtinModel.path, contextLength: 512, slots: 2, threads: 1 } as const
    app = await startApp({ models: [model] })
  }, 60_000)
  afterAll(() => app?.close())

  const send = async (path: string, body: object): Promise<string> => {
    const reply = await fetch(`${app.url}${path}`, { method: 'POST', body: JSON.stringify({ model: 'tiny', ...body }), headers })
    const text = await reply.text()
    if (!reply.ok) throw new Error(text)
    return text
  }
  const json = async (path: string, body: object) => JSON.parse(await send(path, body))
  /** The end of an output: its text, its reason and its tokens. */
  const complete = async (body: object) => {
    const { choices, usage } = await json('/v1/completions', { prompt, max_tokens: 40, ...greedy, ...body })
    return { text: choices[0].text as string, reason: choices[0].finish_reason, tokens: usage.completion_tokens as number }
  }
  const encode = async (text: string): Promise<number[]> =>
    (await json('/v1/token/encode', { text, add_bos_token: false })).tokens

  /** All text in a stream, of server-sent events or of lines. */
  const textOf = (stream: string, read: (event: never) => string | undefined) =>
    stream
      .split('\n')
      .map((line) => line.replace(/^data: ?/, ''))
      .filter((line) => line.startsWith('{'))
      .map((line) => read(JSON.parse(line) as never) ?? '')
      .join('')

  type Way = { readonly path: string; readonly body: object; readonly max: string; read(event: never): string | undefined }
  const ways: readonly (readonly [string, Way])[] = [
    [
      'completions',
      {
        path: '/v1/completions',
        body: { prompt },
        max: 'max_tokens',
        read: ({ choices }: { choices: { text: string }[] }) => choices[0]?.text,
      },
    ],
    [
      'chat completions',
      {
        path: '/v1/chat/completions',
        body: { messages, ignore_eos: true },
        max: 'max_tokens',
        read: ({ choices }: { choices: { delta?: { content?: string }; message?: { content: string } }[] }) =>
          choices[0]?.delta?.content ?? choices[0]?.message?.content,
      },
    ],
    [
      'llama-server',
      { path: '/completion', body: { prompt }, max: 'n_predict', read: ({ content }: { content: string }) => content },
    ],
    [
      'KoboldAI',
      {
        path: '/api/v1/generate',
        body: { prompt },
        max: 'max_length',
        read: ({ results }: { results: { text: string }[] }) => results[0]?.text,
      },
    ],
    [
      'Responses',
      {
        path: '/v1/responses',
        body: { input: messages, ignore_eos: true },
        max: 'max_output_tokens',
        read: (event: { type?: string; delta?: string; output?: { content?: { text: string }[] }[] }) =>
          event.type === 'response.output_text.delta' ? event.delta : event.output?.[0]?.content?.[0]?.text,
      },
    ],
  ]
  test.each(ways)('banned strings never appear, also across tokens: %s', async (_, { path, body, max, read }) => {
    const whole = async (extra: object) => read((await json(path, { ...body, [max]: 40, ...greedy, ...extra })) as never) ?? ''
    const free = await whole({})
    // Parts of what it says otherwise, from the middle of a word to the middle of another.
    const banned = [3, 20, 41].map((at) => free.slice(at, at + 9).toUpperCase()).filter((text) => text.length > 2)
    expect(banned.length).toBeGreaterThan(0)
    const isClean = (text: string) => banned.every((string) => !text.toUpperCase().includes(string))
    const clean = await whole({ banned_strings: banned })
    expect(isClean(free)).toBe(false)
    expect(isClean(clean), clean).toBe(true)
    expect(clean.length).toBeGreaterThan(20)
    expect(clean.startsWith(free.slice(0, 1))).toBe(true)
    if (path === '/api/v1/generate') return
    const stream = await send(path, { ...body, [max]: 40, ...greedy, banned_strings: banned, stream: true })
    const streamed = textOf(stream, (event: { type?: string }) =>
      event.type === undefined || event.type.endsWith('.delta') ? read(event as never) : '',
    )
    expect(streamed).toBe(clean)
  })

  test("KoboldCpp's name for banned strings, and Ollama's place for them", async () => {
    const { text } = await complete({})
    const banned = text.slice(2, 8)
    const kobold = await json('/api/v1/generate', { prompt, max_length: 40, temperature: 0, banned_tokens: [banned] })
    expect(kobold.results[0].text).not.toContain(banned)
    const options = { ...greedy, num_predict: 40, banned_strings: [banned] }
    const ollama = await json('/api/generate', { prompt, raw: true, stream: false, options })
    expect(ollama.response).not.toContain(banned)
    expect(ollama.response.length).toBeGreaterThan(10)
  })

  test('banned strings beside a grammar, penalties, log-probabilities and several choices', async () => {
    const body = {
      prompt,
      max_tokens: 24,
      temperature: 0.9,
      seed: 3,
      n: 3,
      logprobs: 1,
      repetition_penalty: 1.1,
      dry_multiplier: 0.8,
    }
    const { choices } = await json('/v1/completions', {
      ...body,
      regex_pattern: '[a-d]{24,}',
      banned_strings: ['ab', 'ca', 'dd'],
    })
    for (const { text, logprobs } of choices) {
      expect(text).toMatch(/^[a-d]+$/)
      expect(text).not.toMatch(/ab|ca|dd/i)
      expect(logprobs.tokens.join('')).toBe(text)
    }
  })

  test('a constraint that allows only what is banned is an error', async () => {
    const attempt = complete({ regex_pattern: 'abc', banned_strings: ['bc'] })
    await expect(attempt).rejects.toThrow(/no token is possible here/)
  })

  test('an output of a pattern ends when the window is full of it', async () => {
    const only = { allowed_tokens: (await encode('a')).slice(-1), max_tokens: 60 }
    const whole = await complete(only)
    expect(whole).toMatchObject({ text: 'a'.repeat(60), reason: 'length' })
    expect(await complete({ ...only, loop_detect_window: 12 })).toMatchObject({
      text: 'a'.repeat(12),
      reason: 'stop',
      tokens: 12,
    })
    expect(await complete({ ...only, loop_detect_window: 0 })).toEqual(whole)
  })

  test('allowed tokens are the only ones, as a list or as a string', async () => {
    const tokens = [...(await encode('a')).slice(-1), ...(await encode('e')).slice(-1)]
    const { text, tokens: count } = await complete({ allowed_tokens: tokens, temperature: 1 })
    expect(text).toMatch(/^[ae]{40}$/)
    expect(text).toContain('ae')
    expect(count).toBe(40)
    expect((await complete({ allowed_token_ids: tokens.join(', '), temperature: 1 })).text).toBe(text)
  })

  test('a stop token ends the output and is not in it, by any of its names', async () => {
    const { text } = await complete({})
    const tokens = await encode(text)
    const [stop] = tokens.slice(5, 6)
    const first = tokens.indexOf(stop as number)
    for (const extra of [{ stop_token_ids: [stop] }, { stop: ['never there', stop] }]) {
      const ended = await complete(extra)
      expect(ended).toMatchObject({ reason: 'stop', tokens: first })
      expect(text.startsWith(ended.text)).toBe(true)
    }
  })

  test('a healed prompt ends where its text does', async () => {
    const begun = 'The weather in Rome is fi'
    const [plain, healed] = await Promise.all([
      complete({ prompt: begun, max_tokens: 8, ignore_eos: true }),
      complete({ prompt: begun, max_tokens: 8, ignore_eos: true, token_healing: true }),
    ])
    expect(healed.tokens).toBe(8)
    expect(healed.text).not.toBe(plain.text)
    const tokens = await encode(begun + healed.text)
    // As one text, it has a token where the prompt alone had its last one.
    const before = await encode(begun)
    expect(tokens.slice(0, before.length - 1)).toEqual(before.slice(0, -1))
    const refused = complete({ token_healing: true, regex_pattern: 'a+' })
    await expect(refused).rejects.toThrow(/token_healing and a constraint/)
  })

  test('guidance moves an output away from what follows the negative prompt', async () => {
    const plain = await complete({})
    expect(await complete({ guidance_scale: 1, negative_prompt: 'x' })).toEqual(plain)
    const same = { guidance_scale: 3, negative_prompt: prompt }
    // The same prompt twice: the difference is none.
    expect(await complete(same)).toEqual(plain)
    const drawn = { temperature: 1, seed: 5, max_tokens: 20, ignore_eos: true }
    const away = { ...drawn, cfg_scale: 3, negative_prompt: 'The weather in Rome is bad. The' }
    expect((await complete(away)).text).not.toBe((await complete(drawn)).text)
    const [first, second, third] = (await json('/v1/completions', { prompt, ...away, n: 3 })).choices
    expect(first.text).toBe((await complete(away)).text)
    expect(new Set([first.text, second.text, third.text]).size).toBe(3)
  })
})
