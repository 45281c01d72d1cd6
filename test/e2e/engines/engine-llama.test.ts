import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AppError } from '../../../src/contract/errors.ts'
import { plainChat } from '../../../src/contract/request.ts'
import { LlamaEngine } from '../../../src/engine/llama/engine.ts'
import { chatRequest, complete, completeChoices, describeEngineContract, textOfTokens } from '../../engine-contract.ts'
import { runOf } from '../../support/http/iterate.ts'
import { randomModel } from '../../support/llama/models.ts'
import { createRandomEngine } from '../../support/llama/random-engine.ts'
import { randomVocabulary } from '../../support/llama/random-vocabulary.ts'
import { comparable, expectSame, expectScores, isOnGpu } from '../../support/llama/same-text.ts'
import { image } from '../../support/parts.ts'

const never = new AbortController().signal
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined }

describeEngineContract('llama', {
  create: async () => createRandomEngine(),
  longPrompt: 'Tell me a long story about the sea.',
})

describe('engine llama', () => {
  let engine: LlamaEngine
  beforeAll(async () => {
    engine = createRandomEngine()
    await engine.ensureReady(never)
  })
  afterAll(() => engine.close())

  test('the same seed gives the same text, another seed another', { tags: ['gpu'] }, async () => {
    const reply = async (seed: number) => {
      const request = chatRequest('hello', { sampling: { temperature: 1, seed }, maxOutputTokens: 30 })
      return (await completeChoices(engine, comparable(request))).choices[0]
    }
    const first = await reply(7)
    expectSame(await reply(7), first)
    expect((await reply(8))?.text).not.toBe(first?.text)
  })

  test.each(['none', 'auto'] as const)('with the tool choice %s, as many tokens are read as are counted', async (type) => {
    const { prompt } = chatRequest('hello')
    if (prompt.type !== 'chat') throw new Error('not a chat')
    const asked = { prompt: { ...prompt, tools: [{ name: 'f', description: 'a tool' }] }, toolChoice: { type } }
    const { inputTokens } = await engine.prepare(chatRequest('hello', { ...asked, maxOutputTokens: 1 }), never)
    const count = (given: Partial<typeof asked>) =>
      engine.capabilities.tokenizer?.count({ prompt, reasoning: {}, addBos: true, parseSpecial: true, ...given }, never)
    expect(inputTokens).toBe(await count(asked))
    expect(inputTokens === (await count({}))).toBe(type === 'none')
  })

  test('choices differ by their seed, the same way every time', { tags: ['gpu'] }, async () => {
    const request = () => chatRequest('hello', { sampling: { temperature: 1, seed: 7 }, choices: 3, maxOutputTokens: 30 })
    const replies = async () => (await completeChoices(engine, comparable(request()))).choices
    const first = await replies()
    expect(new Set(first.map(({ text }) => text)).size).toBe(3)
    for (const [index, choice] of (await replies()).entries()) expectSame(choice, first[index], `choice ${index}`)
  })

  test.each([
    { name: 'plain', sampling: {} },
    { name: 'with penalties', sampling: { repetitionPenalty: 1.3, presencePenalty: 0.5, frequencyPenalty: 0.5 } },
    { name: 'with XTC', sampling: { xtc: { probability: 0.5, threshold: 0.05 } } },
    {
      name: 'with DRY',
      sampling: { dry: { multiplier: 2, base: 1.75, allowedLength: 1, range: -1, sequenceBreakers: ['\n'] } },
    },
  ])('log-probabilities change nothing about the text: $name', { tags: ['gpu'] }, async ({ sampling }) => {
    const request = chatRequest('hello', { sampling: { temperature: 1, seed: 7, ...sampling }, maxOutputTokens: 80 })
    const plain = await completeChoices(engine, comparable(request))
    const scored = await completeChoices(engine, { ...request, id: `${request.id}-scored`, logprobs: { top: 5 } })
    expectSame(scored.choices[0], plain.choices[0])
  })

  test('log-probabilities are those of the model itself, whatever the sampling', { tags: ['gpu'] }, async () => {
    const score = async (sampling: object) => {
      const request = chatRequest('hello', { sampling, maxOutputTokens: 1, logprobs: { top: 20 } })
      return (await completeChoices(engine, request)).choices[0]?.tokens[0]
    }
    const greedy = await score({ temperature: 0 })
    const forced = await score({ temperature: 2, topK: 1, minP: 0.9, logitBias: new Map([[65, 100]]) })
    expect(forced?.id).toBe(65)
    if (!isOnGpu) expect(forced?.top).toEqual(greedy?.top)
    const scores = (token = greedy) => token?.top.map(({ logprob }) => logprob) ?? []
    expectScores(scores(forced), scores())
    expect(greedy?.logprob).toBe(greedy?.top[0]?.logprob)
    expect(greedy?.top).toHaveLength(20)
    // All of the vocabulary, one forced token at a time, adds up to 1.
    const size = randomVocabulary().tokens.length
    let sum = 0
    for (let id = 3; id < size; id++)
      sum += Math.exp((await score({ temperature: 0, logitBias: new Map([[id, 100]]) }))?.logprob ?? 0)
    expect(sum).toBeGreaterThan(0.99)
    expect(sum).toBeLessThan(isOnGpu ? 1.01 : 1.0001)
  })

  test('characters that span tokens are told as bytes', async () => {
    const bias = new Map([[randomVocabulary().tokens.indexOf('ä¸'), 100]])
    const request = chatRequest('x', { sampling: { temperature: 0, logitBias: bias }, maxOutputTokens: 3, logprobs: { top: 0 } })
    const { choices } = await completeChoices(engine, request)
    expect(choices[0]?.tokens.map(({ bytes }) => bytes)).toEqual([
      [0xe4, 0xb8],
      [0xe4, 0xb8],
      [0xe4, 0xb8],
    ])
  })

  test.each([
    { name: 'plain', options: {} },
    { name: 'with log-probabilities', options: { logprobs: { top: 1 } } },
  ])('a grammar binds from the first token to the last: $name', async ({ options }) => {
    const grammar = 'root ::= "{" [a-z]+ ":" [0-9]{2,5} "}"'
    for (const temperature of [0, 1, 2]) {
      const request = chatRequest('x', {
        output: { type: 'gbnf', grammar },
        sampling: { temperature, seed: 5, topK: 0 },
        maxOutputTokens: 300,
        ...options,
      })
      const { choices } = await completeChoices(engine, request)
      // A random model may go on with letters until its tokens run out.
      expect(choices[0]?.text).toMatch(choices[0]?.finishes[0] === 'stop' ? /^{[a-z]+:[0-9]{2,5}}$/ : /^{[a-z]+(:[0-9]{0,5})?$/)
      if (options.logprobs !== undefined) expect(textOfTokens(choices[0]?.tokens ?? [])).toBe(choices[0]?.text)
    }
  })

  test.each([
    { name: 'a text that is none', grammar: 'this is no grammar' },
    { name: 'one without a root', grammar: 'other ::= "a"' },
    { name: 'one that calls itself first', grammar: 'root ::= root "a"' },
    { name: 'nothing at all', grammar: '' },
  ])('a grammar that llama.cpp does not take is refused before it runs: $name', async ({ grammar }) => {
    const request = chatRequest('x', { output: { type: 'gbnf', grammar }, maxOutputTokens: 5 })
    await expect(engine.prepare(request, never)).rejects.toMatchObject({ code: 'invalid-request' })
    expect(engine.state).toEqual({ type: 'ready' })
  })

  test('an output that its constraint leaves no token for is a failure, not a stop', async () => {
    const a = randomVocabulary().tokens.indexOf('a')
    const bias = new Map(
      randomVocabulary().tokens.flatMap((token, id): [number, number][] => (token.startsWith('a') ? [[id, -100]] : [])),
    )
    expect(bias.has(a)).toBe(true)
    const request = chatRequest('x', {
      output: { type: 'gbnf', grammar: 'root ::= "b" "a"' },
      sampling: { temperature: 0, logitBias: bias },
      maxOutputTokens: 5,
    })
    const failure = { code: 'invalid-request', message: expect.stringContaining('contradict') }
    await expect(complete(engine, request)).rejects.toMatchObject(failure)
    expect(await complete(engine, chatRequest('x', { maxOutputTokens: 3 }))).toMatchObject({ reason: 'length' })
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
    await expect(engine.prepare(request, never)).rejects.toMatchObject({ code: 'invalid-request', at: ['sampling', 'logitBias'] })
  })

  test('a prompt of tokens is taken as it is', async () => {
    const tokens = [...'abc'].map((letter) => randomVocabulary().tokens.indexOf(letter))
    const request = { prompt: { type: 'tokens', tokens }, maxOutputTokens: 20 } as const
    const asText = { prompt: { type: 'text', text: 'abc' }, maxOutputTokens: 20 } as const
    const outcome = await complete(engine, chatRequest('', request))
    expect(outcome.usage?.inputTokens).toBe(3)
    expect(outcome.text).toBe((await complete(engine, chatRequest('', asText))).text)
    for (const id of [-1, 9_999_999]) {
      const wrong = chatRequest('', { prompt: { type: 'tokens', tokens: [5, id] } })
      await expect(engine.prepare(wrong, never)).rejects.toMatchObject({ code: 'invalid-request', at: ['prompt', 'tokens', 1] })
    }
    await expect(engine.prepare(chatRequest('', { prompt: { type: 'tokens', tokens: [] } }), never)).rejects.toMatchObject({
      code: 'invalid-request',
    })
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
      prompt: { type: 'chat', ...plainChat, messages: [{ role: 'user', content: [image('AA==')] }] },
    })
    await expect(engine.prepare(request, never)).rejects.toMatchObject({
      code: 'unsupported-field',
      at: ['prompt', 'messages', 0, 'content', 0],
      message: expect.stringContaining('cannot read'),
    })
  })

  test('a long prompt that is cancelled while it is read emits nothing more', async () => {
    const long = 'lorem ipsum dolor sit amet '.repeat(110)
    const controller = new AbortController()
    const prepared = await engine.prepare(chatRequest(long, { maxOutputTokens: 5 }), never)
    const reason = new AppError('cancelled', 'gone')
    const ended = runOf(prepared, controller.signal)
      .next()
      .catch((error: unknown) => error)
    controller.abort(reason)
    expect(await ended).toBe(reason)
  })

  test('a template that never ends fails its requests, and nothing else', async () => {
    const loop = '{% for i in range(30000) %}{% for j in range(30000) %}{% endfor %}{% endfor %}'
    const locate = async () => ({
      modelPath: await randomModel(),
      slots: 1,
      threads: 1,
      flashAttention: true,
      chatTemplate: loop,
    })
    const looping = new LlamaEngine({ id: 'looping', locate, log: quiet })
    await looping.ensureReady(never)
    await expect(looping.prepare(chatRequest('hi'), never)).rejects.toMatchObject({ code: 'template-failed' })
    const text = chatRequest('', { prompt: { type: 'text', text: 'hello' }, maxOutputTokens: 3 })
    expect(await complete(looping, text)).toMatchObject({ reason: 'length' })

    // Also when the client does not wait for that.
    const leaving = looping.prepare(chatRequest('hi'), AbortSignal.timeout(50))
    await expect(leaving).rejects.toThrow()
    expect(await complete(looping, { ...text, id: 'after-the-second' })).toMatchObject({ reason: 'length' })
    await looping.close()
  })
})
