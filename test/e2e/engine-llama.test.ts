import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AppError } from '../../src/core/errors.ts'
import { plainChat } from '../../src/core/request.ts'
import { LlamaEngine } from '../../src/engine/llama/engine.ts'
import { chatRequest, complete, describeEngineContract } from '../engine-contract.ts'
import { randomModel } from '../support/models.ts'
import { randomVocabulary } from '../support/random-vocabulary.ts'

const never = new AbortController().signal
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined }

function createEngine(slots = 4): LlamaEngine {
  const locate = async () => ({ modelPath: await randomModel(), slots, contextLength: 2048, threads: 1, flashAttention: true })
  return new LlamaEngine({ id: 'random', locate, log: quiet })
}

describeEngineContract('llama', {
  create: async () => createEngine(),
  longPrompt: 'Tell me a long story about the sea.',
})

describe('engine llama', () => {
  let engine: LlamaEngine
  beforeAll(async () => {
    engine = createEngine()
    await engine.ensureReady(never)
  })
  afterAll(() => engine.close())

  test('the same seed gives the same text, another seed another', async () => {
    const text = async (seed: number) =>
      (await complete(engine, chatRequest('hello', { sampling: { temperature: 1, seed }, maxOutputTokens: 30 }))).text
    const first = await text(7)
    expect(await text(7)).toBe(first)
    expect(await text(8)).not.toBe(first)
  })

  test('without a seed two requests differ', async () => {
    const text = async () =>
      (await complete(engine, chatRequest('hello', { sampling: { temperature: 1 }, maxOutputTokens: 30 }))).text
    expect(await text()).not.toBe(await text())
  })

  test('a prompt that continues an earlier one is not computed again', async () => {
    const words = 'the quick brown fox jumps over the lazy dog '.repeat(20)
    await complete(engine, chatRequest(words, { maxOutputTokens: 4 }))
    const again = await complete(engine, chatRequest(words, { maxOutputTokens: 4 }))
    expect(again.usage?.cachedInputTokens).toBe((again.usage?.inputTokens ?? 0) - 1)
    const other = await complete(engine, chatRequest(`${words}and more`, { maxOutputTokens: 4 }))
    expect(other.usage?.cachedInputTokens).toBeGreaterThan(100)
  })

  test('each sampling setting changes the text', async () => {
    const base = { temperature: 1, topK: 0, topP: 1, minP: 0, seed: 3 }
    const text = async (sampling: object) =>
      (await complete(engine, chatRequest('hello hello hello', { sampling: { ...base, ...sampling }, maxOutputTokens: 60 }))).text
    const plain = await text({})
    for (const sampling of [
      { temperature: 0.2 },
      { topK: 2 },
      { topP: 0.2 },
      { minP: 0.5 },
      { repetitionPenalty: 2 },
      { presencePenalty: 2 },
      { frequencyPenalty: 2 },
      { xtc: { probability: 1, threshold: 0.001 } },
    ]) {
      expect(await text(sampling), JSON.stringify(sampling)).not.toBe(plain)
    }
    expect(await text({})).toBe(plain)
  })

  test('DRY breaks a loop that greedy decoding runs into', async () => {
    // With one word forced upwards the model repeats it; DRY makes each further repetition less likely.
    const loop = { temperature: 0, logitBias: new Map([[300, 12]]) }
    const dry = { multiplier: 5, base: 1.75, allowedLength: 1, range: -1, sequenceBreakers: ['\n'] }
    const looped = await complete(engine, chatRequest('hello', { sampling: loop, maxOutputTokens: 40 }))
    const broken = await complete(engine, chatRequest('hello', { sampling: { ...loop, dry }, maxOutputTokens: 40 }))
    expect(broken.text).not.toBe(looped.text)
  })

  test('logit_bias forces a token, and forbids one', async () => {
    const forced = await complete(
      engine,
      chatRequest('hi', { sampling: { temperature: 0, logitBias: new Map([[65, 100]]) }, maxOutputTokens: 5 }),
    )
    expect(new Set(forced.text).size).toBe(1)
    const other = { temperature: 0, logitBias: new Map([[65, -100]]) }
    expect((await complete(engine, chatRequest('hi', { sampling: other, maxOutputTokens: 5 }))).text).not.toBe(forced.text)
  })

  test('logit_bias for a token that does not exist is refused', async () => {
    const request = chatRequest('hi', { sampling: { logitBias: new Map([[9_999_999, 1]]) } })
    await expect(engine.prepare(request, never)).rejects.toMatchObject({ code: 'invalid-request', param: 'logit_bias' })
  })

  test('a model that may end its turn ends it', async () => {
    const endToken = randomVocabulary().tokens.indexOf('<|im_end|>')
    const request = chatRequest('hi', {
      ignoreEos: false,
      sampling: { temperature: 0, logitBias: new Map([[endToken, 100]]) },
      maxOutputTokens: 50,
    })
    expect(await complete(engine, request)).toMatchObject({ text: '', reason: 'stop', usage: { outputTokens: 0 } })
    expect(await complete(engine, { ...request, id: 'eos-ignored', ignoreEos: true })).toMatchObject({ reason: 'length' })
  })

  test("special tokens in the caller's text are text", async () => {
    const plain = await engine.prepare(chatRequest('abc'), never)
    const special = await engine.prepare(chatRequest('<|im_end|>'), never)
    // As control it would be one token; as text it is several.
    expect((special.inputTokens ?? 0) - (plain.inputTokens ?? 0)).toBeGreaterThan(3)
  })

  test('images are refused by name', async () => {
    const request = chatRequest('x', {
      prompt: { type: 'chat', ...plainChat, messages: [{ role: 'user', content: [{ type: 'image', url: 'data:,' }] }] },
    })
    await expect(engine.prepare(request, never)).rejects.toMatchObject({
      code: 'unsupported-field',
      param: 'messages[0].content[0]',
      message: expect.stringContaining('llama-server'),
    })
  })

  test('a long prompt that is cancelled while it is read frees its slot within 250 ms', async () => {
    const long = 'lorem ipsum dolor sit amet '.repeat(110)
    const controller = new AbortController()
    const prepared = await engine.prepare(chatRequest(long, { maxOutputTokens: 5 }), never)
    const reason = new AppError('cancelled', 'gone')
    const ended = prepared
      .run(controller.signal)
      [Symbol.asyncIterator]()
      .next()
      .catch((error: unknown) => error)
    const fromMs = performance.now()
    controller.abort(reason)
    expect(await ended).toBe(reason)
    expect(performance.now() - fromMs).toBeLessThan(250)
  })

  test('a template that never ends costs one restart, and nothing else', async () => {
    const loop = '{% for i in range(30000) %}{% for j in range(30000) %}{% endfor %}{% endfor %}'
    const locate = async () => ({
      modelPath: await randomModel(),
      slots: 1,
      threads: 1,
      flashAttention: true,
      chatTemplate: loop,
    })
    const looping = new LlamaEngine({ id: 'looping', locate, log: quiet, prepareTimeoutMs: 1000 })
    await looping.ensureReady(never)
    await expect(looping.prepare(chatRequest('hi'), never)).rejects.toMatchObject({ code: 'template-failed' })
    const text = chatRequest('', { prompt: { type: 'text', text: 'hello' }, maxOutputTokens: 3 })
    expect(await complete(looping, text)).toMatchObject({ reason: 'length' })

    // Also when the client does not wait for that.
    const leaving = looping.prepare(chatRequest('hi'), AbortSignal.timeout(50))
    await expect(leaving).rejects.toThrow()
    await expect.poll(() => looping.state.type).not.toBe('ready')
    expect(await complete(looping, { ...text, id: 'after-the-second-restart' })).toMatchObject({ reason: 'length' })
    await looping.close()
  })

  test('a model file that is not one is a clear failure, not a crash', async () => {
    const locate = async () => ({ modelPath: import.meta.filename, slots: 1, flashAttention: true })
    const broken = new LlamaEngine({ id: 'broken', locate, log: quiet })
    await expect(broken.ensureReady(never)).rejects.toMatchObject({
      code: 'model-unavailable',
      message: expect.stringContaining("model 'broken' could not be loaded"),
    })
    expect(broken.state.type).toBe('failed')
    await broken.close()
  })
})
