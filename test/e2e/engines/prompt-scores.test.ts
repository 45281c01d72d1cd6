import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { GeneratedToken, PromptToken } from '../../../src/contract/event.ts'
import { type GenerationRequest, plainRequest } from '../../../src/contract/request.ts'
import { LlamaEngine } from '../../../src/engine/llama/engine.ts'
import { builtinModel } from '../../../src/registry/names/builtin-model.ts'
import { type RunningApp, startApp, until } from '../../support/http/app.ts'
import { runOf } from '../../support/http/iterate.ts'
import { randomModel } from '../../support/llama/models.ts'
import { writeRandomModel } from '../../support/llama/random-gguf.ts'
import { expectScores, isOnGpu, lengthOfSame } from '../../support/llama/same-text.ts'
import { loadFactor } from '../../support/process/stall-bound.ts'
import { createWireCheck } from '../../support/wire-schema.ts'

const never = new AbortController().signal
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined }
const check = createWireCheck('OpenAICompletion')
const infillMarks = ['<|fim_prefix|>', '<|fim_suffix|>', '<|fim_middle|>']

type Logprobs = {
  tokens: string[]
  token_logprobs: (number | null)[]
  top_logprobs: (Record<string, number> | null)[]
  text_offset: number[]
}
type Reply = {
  choices: { text: string; logprobs: Logprobs; finish_reason: string }[]
  usage: { prompt_tokens: number; completion_tokens: number }
  scores: number[]
  scored_tokens: number[]
  tokens: number[]
  error: { code: string; param: string; message: string }
}

let folder: string
let app: RunningApp
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-scores-'))
  const infill = join(folder, 'infill.gguf')
  await writeRandomModel(infill, { moreControlTokens: infillMarks })
  const options = { engine: 'llama', slots: 1, threads: 1, contextLength: 512 } as const
  app = await startApp({
    models: [
      { id: 'random', source: await randomModel(), ...options },
      { id: 'tiny', source: builtinModel.path, ...options },
      { id: 'infill', source: infill, ...options },
    ],
  })
})
afterAll(async () => {
  await app?.close()
  await rm(folder, { recursive: true, force: true })
})

async function post(path: string, body: object, signal?: AbortSignal): Promise<{ status: number; json: Reply }> {
  const headers = { 'content-type': 'application/json' }
  const reply = await fetch(`${app.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body), signal: signal ?? null })
  return { status: reply.status, json: (await reply.json()) as Reply }
}

async function complete(body: object): Promise<Reply> {
  const { status, json } = await post('/v1/completions', { temperature: 0, ...body })
  expect(status, JSON.stringify(json)).toBe(200)
  check(json)
  return json
}

async function tokenize(model: string, content: string): Promise<number[]> {
  return (await post('/tokenize', { model, content, add_special: true })).json.tokens
}

const sum = (values: readonly (number | null)[]) => values.reduce<number>((total, value) => total + (value ?? 0), 0)

describe.each(['random', 'tiny'])('on %s', (model) => {
  const prompt = 'The weather in Paris – 天気 – today is'

  test('an echo changes nothing about what is generated, and says the text whole', { tags: ['gpu'] }, async () => {
    const ids = await tokenize(model, prompt)
    // The prompt has been read before: what is left of it in the slot must not matter.
    const body = { model, prompt: ids, max_tokens: 120, logprobs: 3, ignore_eos: true }
    const [echoed] = (await complete({ ...body, echo: true })).choices
    const [plain] = (await complete(body)).choices
    const [echoedTokens, plainTokens] = [echoed?.logprobs.tokens.slice(ids.length) ?? [], plain?.logprobs.tokens ?? []]
    if (!isOnGpu) expect(echoedTokens).toEqual(plainTokens)
    const same = lengthOfSame(echoedTokens, plainTokens)
    expectScores(
      echoed?.logprobs.token_logprobs.slice(ids.length, ids.length + same) ?? [],
      plain?.logprobs.token_logprobs.slice(0, same) ?? [],
    )
    expect(plainTokens).toHaveLength(120)
    const text = prompt + (plain?.text ?? '')
    const [whole] = (await complete({ model, prompt: text, echo: true, logprobs: 3, max_tokens: 0 })).choices
    expect(whole).toMatchObject({ text, finish_reason: 'length' })
    expect(whole?.logprobs.tokens).toHaveLength((await tokenize(model, text)).length)
  })

  test('token ids are echoed as text, each with its offset and its score', { tags: ['gpu'] }, async () => {
    const ids = await tokenize(model, prompt)
    const { choices, usage } = await complete({ model, prompt: [ids, ids.slice(0, 3)], echo: true, logprobs: 2, max_tokens: 0 })
    const [first, second] = choices
    expect(first?.text).toBe(prompt)
    expect(prompt.startsWith(second?.text ?? ' ')).toBe(true)
    if (first === undefined) throw new Error('no choice')
    const { tokens, token_logprobs: logprobs, top_logprobs: top, text_offset: offsets } = first.logprobs
    expect(tokens).toHaveLength(ids.length)
    expect([logprobs[0], top[0], offsets[0]]).toEqual([null, null, 0])
    const characters = [...prompt]
    for (const [index, token] of tokens.entries()) {
      if (index > 0) expect(logprobs[index]).toBe(top[index]?.[token])
      if (token.startsWith('bytes:')) continue
      expect(characters.slice(offsets[index], (offsets[index] ?? 0) + [...token].length).join('')).toBe(token)
    }
    expectScores(second?.logprobs.token_logprobs ?? [], logprobs.slice(0, 3))
    expect(usage).toMatchObject({ prompt_tokens: ids.length + 3, completion_tokens: 0 })
    const [plain] = (await complete({ model, prompt: ids, echo: true, max_tokens: 0 })).choices
    expect(plain).toMatchObject({ text: prompt, logprobs: null })
  })

  test('`prompt_logprobs` has what an echo has, and the tokens of a conversation', async () => {
    const [echoed] = (await complete({ model, prompt, echo: true, logprobs: 2, max_tokens: 1 })).choices
    const asked = await post('/v1/completions', { model, prompt, prompt_logprobs: 2, max_tokens: 1, temperature: 0 })
    const [choice] = asked.json.choices as unknown as { text: string; prompt_logprobs: (object | null)[] }[]
    const ids = await tokenize(model, prompt)
    expect(choice?.text).toBe(echoed?.text.slice(prompt.length))
    const own = choice?.prompt_logprobs.map((token, index) => Reflect.get(token ?? {}, ids[index] ?? '')?.logprob ?? null)
    expectScores(own ?? [], echoed?.logprobs.token_logprobs.slice(0, ids.length) ?? [])

    const messages = [{ role: 'user', content: 'hello' }]
    const chat = await post('/v1/chat/completions', { model, messages, prompt_logprobs: 1, max_tokens: 1 })
    const { prompt_logprobs: tokens, usage } = chat.json as unknown as {
      prompt_logprobs: (object | null)[]
      usage: Reply['usage']
    }
    expect(tokens).toHaveLength(usage.prompt_tokens)
    expect(tokens[0]).toBeNull()
    for (const token of tokens.slice(1)) expect(Object.values(token ?? {})[0]).toMatchObject({ logprob: expect.any(Number) })
  })

  test('a stream is the whole reply in pieces, for every choice', { tags: ['gpu'] }, async () => {
    const body = { model, prompt, echo: true, logprobs: 1, max_tokens: 8, n: 2, temperature: 1, seed: 4, ignore_eos: true }
    const whole = await complete(body)
    const client = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: 'none', maxRetries: 0 })
    const stream = await client.completions.create({ ...body, stream: true } as OpenAI.CompletionCreateParamsStreaming)
    const texts = ['', '']
    const scores: (number | null)[][] = [[], []]
    const offsets: number[][] = [[], []]
    for await (const chunk of stream) {
      for (const { index, text, logprobs } of chunk.choices) {
        texts[index] += text
        scores[index]?.push(...(logprobs?.token_logprobs ?? []))
        offsets[index]?.push(...(logprobs?.text_offset ?? []))
      }
    }
    for (const [index, { text, logprobs }] of whole.choices.entries()) {
      const [streamed = [], at = []] = [scores[index], offsets[index]]
      if (!isOnGpu) expect([texts[index], at]).toEqual([text, logprobs.text_offset])
      // The texts may part behind the prompt.
      const compared = isOnGpu ? (await tokenize(model, prompt)).length : undefined
      expectScores(streamed.slice(0, compared), logprobs.token_logprobs.slice(0, compared))
    }
  })

  test('an evaluation is the sum of those scores, text by text', { tags: ['gpu'] }, async () => {
    const texts = [prompt, 'Hello', `${prompt} ${prompt}`, 'a']
    const { status, json } = await post('/v1/score/evaluation', { model, messages: texts })
    expect(status).toBe(200)
    expect(json).toMatchObject({ object: 'score.evaluation', model, method: 'log_likelihood', truncated: texts.map(() => false) })
    const { choices } = await complete({ model, prompt: texts, echo: true, logprobs: 0, max_tokens: 0 })
    expect(json.scores).toHaveLength(4)
    for (const [index, { logprobs }] of choices.entries()) {
      const [perToken, digits] = isOnGpu ? [logprobs.tokens.length, 1] : [1, 6]
      expect((json.scores[index] ?? Number.NaN) / perToken).toBeCloseTo(sum(logprobs.token_logprobs) / perToken, digits)
      expect(json.scored_tokens[index]).toBe(logprobs.token_logprobs.filter((value) => value !== null).length)
    }
    expect(json.usage.prompt_tokens).toBe(choices.reduce((total, { logprobs }) => total + logprobs.tokens.length, 0))
  })

  test('what does not fit is named, and a prompt that is only scored may fill the context', async () => {
    const { json } = await post('/v1/score/evaluation', { model, messages: ['a', 'b c '.repeat(600)] })
    expect(json.error).toMatchObject({ code: 'context_length_exceeded', param: 'messages[1]' })
    const ids = Array.from({ length: 512 }, (_, index) => 300 + (index % 50))
    const [full] = (await complete({ model, prompt: ids, echo: true, logprobs: 0, max_tokens: 0 })).choices
    expect(full?.logprobs.token_logprobs).toHaveLength(512)
    const { status } = await post('/v1/completions', { model, prompt: ids, echo: true, logprobs: 0, max_tokens: 1 })
    expect(status).toBe(400)
  })
})

/** What an engine tells of a request: the prompt's tokens and those that it made. */
async function run(engine: LlamaEngine, options: Partial<GenerationRequest>) {
  const request = { ...plainRequest, id: 'r', model: 'm', prompt: { type: 'tokens', tokens: [] }, ...options } as const
  const prompt: PromptToken[] = []
  const made: GeneratedToken[] = []
  for await (const event of runOf(await engine.prepare(request, never), never)) {
    if (event.type === 'prompt-tokens') prompt.push(...event.promptTokens)
    if (event.type === 'raw-text') made.push(...(event.tokens ?? []))
  }
  return { prompt, made }
}

test.each([
  // Products of its 32-bit weights are rounded differently for one token and for several.
  ['random', randomModel, 1e-2],
  ['tiny', async () => builtinModel.path, 1e-3],
] as const)(
  'tokens that were generated on %s are scored as they were then',
  { tags: ['gpu'] },
  async (_, locateModel, onProcessor) => {
    const tolerance = isOnGpu ? 0.3 : onProcessor
    const modelPath = await locateModel()
    const options = { modelPath, slots: 1, contextLength: 512, threads: 1, flashAttention: true }
    const engine = new LlamaEngine({ id: 'm', locate: async () => options, log: quiet })
    try {
      const tokens = Array.from({ length: 30 }, (_, index) => 300 + 7 * index)
      const generation = { prompt: { type: 'tokens', tokens }, sampling: { temperature: 0 }, ignoreEos: true } as const
      const { made } = await run(engine, { ...generation, logprobs: { top: 3 }, maxOutputTokens: 100 })
      const whole = { type: 'tokens', tokens: [...tokens, ...made.map(({ id }) => id)] } as const
      for (const maxOutputTokens of [0, 2]) {
        const { prompt } = await run(engine, { prompt: whole, promptTokens: { logprobs: { top: 3 } }, maxOutputTokens })
        expect(prompt.map(({ id }) => id)).toEqual(whole.tokens)
        expect(prompt[0]).toMatchObject({ top: [] })
        for (const [index, { logprob, top }] of made.entries()) {
          const scored = prompt[tokens.length + index]
          expect(Math.abs((scored?.logprob ?? Number.NaN) - logprob)).toBeLessThan(tolerance)
          expect(Math.abs((scored?.top[0]?.logprob ?? Number.NaN) - (top[0]?.logprob ?? 0))).toBeLessThan(tolerance)
        }
        const sums = [prompt.slice(tokens.length), made].map((list) => sum(list.map(({ logprob = null }) => logprob)))
        expect(Math.abs((sums[0] ?? Number.NaN) - (sums[1] ?? Number.NaN))).toBeLessThan(
          isOnGpu ? tolerance * made.length : tolerance,
        )
      }
    } finally {
      await engine.close()
    }
  },
)

test('the slot of a client that hangs up while its texts are scored is free soon', async () => {
  const controller = new AbortController()
  const messages = Array.from({ length: 500 }, () => 'The weather in Paris today is '.repeat(15))
  const scoring = post('/v1/score/evaluation', { model: 'tiny', messages }, controller.signal)
  await until(async () => (await app.metric('dragoman_slots_busy{model="tiny"}')) === 1)
  controller.abort()
  await expect(scoring).rejects.toThrow()
  await until(async () => (await app.metric('dragoman_slots_busy{model="tiny"}')) === 0, 2000 * loadFactor())
})

describe('filling in the middle', () => {
  test('is a prompt of prefix and suffix between their special tokens', async () => {
    const ids = await tokenize('infill', `${infillMarks[0]}def add(a, b):${infillMarks[1]} return c${infillMarks[2]}`)
    const expected = await complete({ model: 'infill', prompt: ids, max_tokens: 20, ignore_eos: true })
    const body = { model: 'infill', prompt: 'def add(a, b):', suffix: ' return c', max_tokens: 20, ignore_eos: true }
    const filled = await complete(body)
    expect(filled.choices).toEqual(expected.choices)
    expect(filled.usage.prompt_tokens).toBe(ids.length)
    const other = await complete({ ...body, suffix: ' return d' })
    expect(other.choices[0]?.text).not.toBe(filled.choices[0]?.text)
    const [echoed] = (await complete({ ...body, echo: true })).choices
    expect(echoed?.text).toBe(`def add(a, b):${filled.choices[0]?.text}`)
  })

  test('reads the text of a special token as text', async () => {
    const marked = await complete({ model: 'infill', prompt: `a${infillMarks[1]}`, suffix: 'b', max_tokens: 1 })
    const plain = await complete({ model: 'infill', prompt: 'a', suffix: 'b', max_tokens: 1 })
    expect(marked.usage.prompt_tokens).toBeGreaterThan(plain.usage.prompt_tokens + 3)
  })

  test.each(['random', 'tiny'])('is refused by name on %s, which has no tokens for it', async (model) => {
    const { status, json } = await post('/v1/completions', { model, prompt: 'a', suffix: 'b' })
    expect([status, json.error.param, json.error.code]).toEqual([400, 'suffix', 'unsupported_field'])
  })
})
