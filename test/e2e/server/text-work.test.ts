import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import LlamaStackClient from 'llama-stack-client'
import OldClient from 'llama-stack-client-0.2'
import LaterClient from 'llama-stack-client-0.3'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { EmbedInput } from '../../../src/contract/engine.ts'
import { AppError } from '../../../src/contract/errors.ts'
import { plainChat } from '../../../src/contract/request.ts'
import { LlamaEngine } from '../../../src/engine/llama/engine.ts'
import { chatRequest } from '../../engine-contract.ts'
import { type RunningApp, startApp, until } from '../../support/http/app.ts'
import { capability } from '../../support/llama/capability.ts'
import { randomModel } from '../../support/llama/models.ts'
import { writeRandomBert } from '../../support/llama/random-bert.ts'
import { image } from '../../support/parts.ts'
import { loadFactor } from '../../support/process/stall-bound.ts'
import { engineOverDragoman } from '../../support/upstream/over-dragoman.ts'
import { createWireCheck } from '../../support/wire-schema.ts'

const never = new AbortController().signal
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined }
const text = (value: string): EmbedInput => ({ type: 'text', text: value })

describe('engine llama: tokens and vectors', () => {
  let engine: LlamaEngine
  beforeAll(async () => {
    const modelPath = await randomModel()
    const locate = async () => ({ modelPath, slots: 2, contextLength: 1024, threads: 1, flashAttention: true })
    engine = new LlamaEngine({ id: 'random', locate, log: quiet })
    await engine.ensureReady(never)
  })
  afterAll(() => engine.close())

  const tokenize = (value: string, flags: { addBos?: boolean; parseSpecial?: boolean } = {}) =>
    capability(engine, 'tokenizer').tokenize(
      { prompt: { type: 'text', text: value }, reasoning: {}, addBos: false, parseSpecial: false, ...flags },
      never,
    )

  test('facts name the template and the length of vectors', () => {
    expect(engine.facts).toMatchObject({ contextLength: 1024, embeddingLength: 64 })
    expect(engine.facts.chatTemplate).toContain('<|im_start|>')
  })

  test.each(['Hello, world!', '<|im_start|>user', '  two  spaces ', 'naïve – 日本語 🙂', 'line\nline', '<|im_end|>'])(
    '%j comes back whole',
    async (value) => {
      for (const parseSpecial of [true, false]) {
        const tokens = await tokenize(value, { parseSpecial })
        expect(await capability(engine, 'tokenizer').detokenize({ tokens, special: true }, never)).toBe(value)
      }
    },
  )

  test('the bytes of tokens are those of the text, also through another Dragoman', async () => {
    const remote = await engineOverDragoman({ id: 'up', engine: 'llama', source: await randomModel(), slots: 1, threads: 1 })
    const value = 'Tea, café and 茶 <|im_end|>'
    for (const { capabilities } of [engine, remote]) {
      const asked = { prompt: { type: 'text', text: value }, reasoning: {}, addBos: false, parseSpecial: true } as const
      const pieces = (await capabilities.tokenizer?.pieces?.(asked, never)) ?? []
      expect(pieces.map(({ id }) => id)).toEqual(await capabilities.tokenizer?.tokenize(asked, never))
      expect(Buffer.concat(pieces.map(({ bytes }) => bytes)).toString()).toBe(value)
    }
    await remote.close()
  })

  test('the text of a control token is one only where it is read as one', async () => {
    const [token, ...none] = await tokenize('<|im_end|>', { parseSpecial: true })
    expect(none).toEqual([])
    expect((await tokenize('<|im_end|>', { parseSpecial: false })).length).toBeGreaterThan(1)
    expect(await capability(engine, 'tokenizer').detokenize({ tokens: [token as number], special: false }, never)).toBe('')
  })

  test('a rendered conversation is what the model is given', async () => {
    const request = chatRequest('Say <|im_end|> twice')
    if (request.prompt.type !== 'chat') throw new Error('not a chat')
    const { prompt, reasoning } = request
    const rendered = await capability(engine, 'tokenizer').render({ prompt, reasoning }, never)
    expect(rendered).toBe('<|im_start|>user\nSay <|im_end|> twice<|im_end|>\n<|im_start|>assistant\n')
    const tokens = await capability(engine, 'tokenizer').tokenize({ prompt, reasoning, addBos: true, parseSpecial: true }, never)
    expect(tokens.length).toBe((await engine.prepare(request, never)).inputTokens)
    expect(await capability(engine, 'tokenizer').detokenize({ tokens, special: true }, never)).toContain(rendered)
  })

  test('an image in a conversation is refused', async () => {
    const prompt = { type: 'chat', ...plainChat, messages: [{ role: 'user', content: [image('AA==')] }] } as const
    await expect(capability(engine, 'tokenizer').render({ prompt, reasoning: {} }, never)).rejects.toMatchObject({
      code: 'unsupported-field',
    })
  })

  test('equal inputs have equal vectors, as text and as tokens, alone and beside others', async () => {
    const tokens = await tokenize('The cat sat on the mat.')
    const inputs = [text('The cat sat on the mat.'), text('Something else'), { type: 'tokens', tokens } as const]
    const { vectors, inputTokens } = await capability(engine, 'embedder').embed(inputs, never)
    const alone = await capability(engine, 'embedder').embed([text('The cat sat on the mat.')], never)
    // What rounds where depends on how many tokens a pass has.
    expect(cosine(vectors[0], alone.vectors[0])).toBeCloseTo(1, 3)
    expect(cosine(vectors[2], vectors[0])).toBeCloseTo(1, 3)
    expect(cosine(vectors[1], vectors[0])).toBeLessThan(0.99)
    expect(vectors[0]).toHaveLength(64)
    expect(inputTokens).toBe(
      2 * alone.inputTokens + (await capability(engine, 'embedder').embed([text('Something else')], never)).inputTokens,
    )
  })

  test('a text of several steps, in a larger context, has the mean of all of its tokens', async () => {
    const tokens = Array.from({ length: 590 }, (_, index) => 300 + (index % 50))
    const [long] = (await capability(engine, 'embedder').embed([{ type: 'tokens', tokens }], never)).vectors
    const [again] = (await capability(engine, 'embedder').embed([{ type: 'tokens', tokens }], never)).vectors
    expect(cosine(long, again)).toBeCloseTo(1, 4)
    const [half] = (await capability(engine, 'embedder').embed([{ type: 'tokens', tokens: tokens.slice(0, 295) }], never)).vectors
    expect(cosine(long, half)).toBeLessThan(0.99999)
  })

  test('a text may fill the context to its last token', async () => {
    const tokens = Array.from({ length: 1024 }, (_, index) => 300 + (index % 50))
    const [whole] = (await capability(engine, 'embedder').embed([{ type: 'tokens', tokens }], never)).vectors
    const [end] = (await capability(engine, 'embedder').embed([{ type: 'tokens', tokens: tokens.slice(0, 1000) }], never)).vectors
    expect(cosine(whole, end)).toBeGreaterThan(0.99)
  })

  test('what is too long is refused by index before anything is computed', async () => {
    const tooLong = { type: 'tokens', tokens: Array.from({ length: 1025 }, () => 300) } as const
    const refused = capability(engine, 'embedder').embed([text('a'), tooLong], never)
    await expect(refused).rejects.toMatchObject({ code: 'context-length-exceeded', at: ['inputs', 1] })
    const unknown = capability(engine, 'embedder').embed([{ type: 'tokens', tokens: [5, 1_000_000] }], never)
    await expect(unknown).rejects.toMatchObject({ code: 'invalid-request', at: ['inputs', 0] })
  })

  test('a cancelled embedding ends, and the next one is computed', async () => {
    const controller = new AbortController()
    const inputs = Array.from({ length: 500 }, () => text('word '.repeat(200)))
    const embedding = capability(engine, 'embedder').embed(inputs, controller.signal)
    setImmediate(() => controller.abort(new AppError('cancelled', 'gone')))
    await expect(embedding).rejects.toMatchObject({ code: 'cancelled' })
    expect((await capability(engine, 'embedder').embed([text('a')], never)).vectors).toHaveLength(1)
  })
})

function cosine(a: Float32Array | undefined, b: Float32Array | undefined): number {
  if (a === undefined || b === undefined) throw new Error('a vector is missing')
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0) / (Math.hypot(...a) * Math.hypot(...b))
}

describe('the server', () => {
  let app: RunningApp
  beforeAll(async () => {
    const source = await randomModel()
    app = await startApp({ models: [{ id: 'random', engine: 'llama', source, slots: 1, threads: 1, contextLength: 1024 }] })
  })
  afterAll(() => app.close())

  const post = (path: string, body: object, signal = never) =>
    fetch(`${app.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal,
    })

  test('embeds, in OpenAI’s words', async () => {
    const sent = await post('/v1/embeddings', { model: 'random', input: ['a', 'b'], dimensions: 16 })
    const reply = (await sent.json()) as { data: { embedding: number[] }[] }
    createWireCheck('OpenAIEmbeddingResponse')(reply)
    for (const { embedding } of reply.data) {
      expect(embedding).toHaveLength(16)
      expect(Math.hypot(...embedding)).toBeCloseTo(1, 5)
    }
  })

  test('gives the official SDK the vectors that it asks for as base64', async () => {
    const client = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: 'none' })
    const packed = await client.embeddings.create({ model: 'random', input: ['a', 'b'] })
    const plain = await client.embeddings.create({ model: 'random', input: ['a', 'b'], encoding_format: 'float' })
    expect(packed.data.map(({ embedding }) => embedding)).toEqual(plain.data.map(({ embedding }) => embedding))
    expect(packed.usage).toEqual(plain.usage)
  })

  test('describes its model, and generates besides embedding', async () => {
    const props = await (await fetch(`${app.url}/props`)).json()
    expect(props).toMatchObject({ default_generation_settings: { n_ctx: 1024 }, total_slots: 1, model_alias: 'random' })
    expect(JSON.stringify(props)).not.toContain('.gguf')
    const chat = { model: 'random', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 4, seed: 1 }
    const [reply] = await Promise.all([
      post('/v1/chat/completions', chat),
      post('/v1/embeddings', { model: 'random', input: 'a' }),
    ])
    expect(reply.status).toBe(200)
  })

  test('frees the slot of a client that hangs up while it embeds', async () => {
    const controller = new AbortController()
    const input = Array.from({ length: 500 }, () => 'word '.repeat(200))
    const embedding = post('/v1/embeddings', { model: 'random', input }, controller.signal)
    await until(async () => (await app.metric('dragoman_slots_busy{model="random"}')) === 1)
    controller.abort()
    await expect(embedding).rejects.toThrow()
    await until(async () => (await app.metric('dragoman_slots_busy{model="random"}')) === 0, 2000 * loadFactor())
  })
})

describe('models that only read', () => {
  let folder: string
  let app: RunningApp
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dragoman-bert-'))
    const models = await Promise.all(
      (['mean', 'cls', 'rank'] as const).map(async (pooling) => {
        const source = join(folder, `${pooling}.gguf`)
        await writeRandomBert(source, pooling)
        return { id: pooling, engine: 'llama', source, slots: 1, threads: 1 } as const
      }),
    )
    app = await startApp({ models })
  })
  afterAll(async () => {
    await app.close()
    await rm(folder, { recursive: true, force: true })
  })

  async function post(path: string, body: object): Promise<{ status: number; json: Reply }> {
    const headers = { 'content-type': 'application/json' }
    const reply = await fetch(`${app.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    return { status: reply.status, json: (await reply.json()) as Reply }
  }

  test.each(['mean', 'cls'])('an encoder pooled by %s embeds, with its own first and last token', async (model) => {
    const { json } = await post('/v1/embeddings', { model, input: ['hello', 'hello', 'bye'] })
    const [first, second, third] = json.data.map(({ embedding }) => Float32Array.from(embedding))
    expect(first).toHaveLength(32)
    expect(cosine(second, first)).toBeCloseTo(1, 5)
    expect(cosine(third, first)).toBeLessThan(0.999)
    // One token for each letter, and two around each text.
    expect(json.usage.prompt_tokens).toBe(5 + 5 + 3 + 3 * 2)
  })

  test('an encoder takes as many tokens as it was trained for', async () => {
    expect((await post('/v1/embeddings', { model: 'mean', input: 'a'.repeat(62) })).status).toBe(200)
    const { status, json } = await post('/v1/embeddings', { model: 'mean', input: ['a', 'a'.repeat(63)] })
    expect([status, json.error.code, json.error.param]).toEqual([400, 'context_length_exceeded', 'input[1]'])
  })

  test('an encoder writes nothing', async () => {
    const { status, json } = await post('/v1/completions', { model: 'mean', prompt: 'a' })
    expect([status, json.error.param]).toEqual([400, 'model'])
  })

  test('documents are ranked, the best first, with their texts when wanted', async () => {
    const documents = ['a cat', { text: 'a dog' }, 'rain', 'a cat']
    const { json } = await post('/v1/rerank', { model: 'rank', query: 'pets?', documents, return_documents: true })
    expect(json.results.map(({ index }) => index).sort()).toEqual([0, 1, 2, 3])
    const scores = json.results.map(({ relevance_score: score }) => score)
    expect(scores).toEqual([...scores].sort((a, b) => b - a))
    for (const score of scores) expect(score > 0 && score < 1).toBe(true)
    const same = json.results.filter(({ index }) => index === 0 || index === 3)
    expect(same[0]?.relevance_score).toBe(same[1]?.relevance_score)
    expect(new Set(scores).size).toBe(3)
    expect(json.results.find(({ index }) => index === 1)?.document).toEqual({ text: 'a dog' })
    const top = await post('/v1/rerank', { model: 'rank', query: 'pets?', documents, top_n: 1 })
    expect(top.json.results).toEqual([{ index: json.results[0]?.index, relevance_score: scores[0] }])
    const other = await post('/v1/rerank', { model: 'rank', query: 'weather', documents })
    expect(other.json.results[0]?.relevance_score).not.toBe(scores[0])
  })

  test('clients of llama-stack and Cohere rank by routes of their own', async () => {
    const documents = ['a cat', 'a dog', 'rain']
    const best = (await post('/v1/rerank', { model: 'rank', query: 'pets?', documents, top_n: 2 })).json.results
    const options = { baseURL: app.url, maxRetries: 0 }
    const request = { model: 'rank', query: { type: 'text' as const, text: 'pets?' }, items: documents, max_num_results: 2 }
    expect(best).toHaveLength(2)
    // Cohere's SDKs.
    expect((await post('/v2/rerank', { model: 'rank', query: 'pets?', documents, top_n: 2 })).json.results).toEqual(best)
    expect(await new OldClient(options).inference.rerank(request)).toEqual(best)
    expect(await new LaterClient(options).inference.rerank(request)).toEqual(best)
    expect(await new LlamaStackClient(options).alpha.inference.rerank(request)).toEqual(best)
  })

  test('texts are scored by themselves, in order', async () => {
    const { json } = await post('/v1/score/evaluation', { model: 'rank', messages: ['good', 'bad', 'good'] })
    expect(json).toMatchObject({ id: expect.stringMatching(/^scoreval-[\da-f]{32}$/), object: 'score.evaluation', model: 'rank' })
    expect(json.scores).toHaveLength(3)
    expect(json.scores[2]).toBe(json.scores[0])
    expect(json.scores[1]).not.toBe(json.scores[0])
  })

  test('of a text, no more is scored than `max_length` tokens, which may be more than it has', async () => {
    const whole = await post('/v1/score/evaluation', { model: 'rank', messages: ['good'] })
    const { json } = await post('/v1/score/evaluation', { model: 'rank', messages: ['good', 'c'.repeat(99)], max_length: 9 })
    expect([json.scores[0], json.truncated]).toEqual([whole.json.scores[0], [false, true]])
  })

  test.each<[string, object, string]>([
    ['/v1/rerank', { model: 'mean', query: 'a', documents: ['b'] }, 'model'],
    ['/v1/embeddings', { model: 'rank', input: 'a' }, 'model'],
    ['/v1/rerank', { model: 'rank', query: 'a', documents: ['b', 'c'.repeat(99)] }, 'documents[1]'],
    ['/v1/rerank', { model: 'rank', query: 'a', documents: [] }, 'documents'],
    ['/v1/rerank', { model: 'rank', query: '', documents: ['a'] }, 'query'],
    ['/v1/rerank', { model: 'rank', query: 'a', documents: ['a'], top_n: 0 }, 'top_n'],
    ['/v1/score/evaluation', { model: 'mean', messages: ['a'] }, 'model'],
    ['/v1/score/evaluation', { model: 'rank', messages: ['a', 'c'.repeat(99)] }, 'messages[1]'],
    ['/v1/score/evaluation', { model: 'rank', messages: [] }, 'messages'],
    ['/v1/score/evaluation', { model: 'rank', messages: ['a'], max_length: 0 }, 'max_length'],
  ])('POST %s refuses %j', async (path, body, param) => {
    const { status, json } = await post(path, body)
    expect([status, json.error.param]).toEqual([400, param])
  })
})

type Reply = {
  data: { embedding: number[] }[]
  usage: { prompt_tokens: number }
  results: { index: number; relevance_score: number; document?: { text: string } }[]
  scores: number[]
  truncated: boolean[]
  error: { code: string; param: string }
}
