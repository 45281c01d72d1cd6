import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AppError } from '../../src/core/errors.ts'
import type { GenerationEvent } from '../../src/core/event.ts'
import { createOutputParser } from '../../src/core/parse/output-parser.ts'
import { type GenerationRequest, plainChat, type Tool } from '../../src/core/request.ts'
import { wasCut } from '../../src/core/was-cut.ts'
import { LlamaEngine } from '../../src/engine/llama/engine.ts'
import type { LoadOptions } from '../../src/engine/llama/ipc.ts'
import { chatRequest, complete, completeChoices, describeEngineContract, textOfTokens } from '../engine-contract.ts'
import { runOf } from '../support/iterate.ts'
import { randomModel } from '../support/models.ts'
import { randomVocabulary } from '../support/random-vocabulary.ts'

const never = new AbortController().signal
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined }

function createEngine(options: Partial<LoadOptions> = {}): LlamaEngine {
  const locate = async () => ({
    modelPath: await randomModel(),
    slots: 4,
    contextLength: 2048,
    threads: 1,
    flashAttention: true,
    ...options,
  })
  return new LlamaEngine({ id: 'random', locate, log: quiet })
}

describeEngineContract('llama', {
  create: async () => createEngine(),
  longPrompt: 'Tell me a long story about the sea.',
})

const person = {
  type: 'object',
  properties: {
    name: { type: 'string', maxLength: 12 },
    age: { type: 'integer', minimum: 0, maximum: 150 },
    tags: { type: 'array', items: { enum: ['a', 'b', 'c'] }, maxItems: 3 },
  },
  required: ['name', 'age', 'tags'],
  additionalProperties: false,
}

const weather: Tool = {
  name: 'get_weather',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string', maxLength: 20 }, unit: { enum: ['C', 'F'] } },
    required: ['city', 'unit'],
    additionalProperties: false,
  },
}
const clock: Tool = { name: 'get_time', parameters: { type: 'object', properties: {}, additionalProperties: false } }

function chatWithTools(text: string, tools: readonly Tool[]): Pick<GenerationRequest, 'prompt'> {
  return { prompt: { type: 'chat', ...plainChat, messages: [{ role: 'user', content: [{ type: 'text', text }] }], tools } }
}

describe('engine llama: structured output', () => {
  let engine: LlamaEngine
  beforeAll(async () => {
    engine = createEngine({ toolFormat: 'hermes' })
    await engine.ensureReady(never)
  })
  afterAll(() => engine.close())

  test.each([0, 1, 2, 3, 4, 5])('a JSON Schema is kept by random weights, seed %i', async (seed) => {
    const output = { type: 'json-schema', schema: person, strict: true } as const
    const request = chatRequest('x', { output, sampling: { temperature: 1.5, topK: 0, minP: 0, seed }, maxOutputTokens: 500 })
    const prepared = await engine.prepare(request, never)
    expect(prepared.structured).toBe('full')
    const { text, reason } = await complete(engine, request)
    expect(reason).toBe('stop')
    const { name, age, tags, ...rest } = JSON.parse(text)
    expect(name).toEqual(expect.any(String))
    expect([...name].length).toBeLessThanOrEqual(12)
    expect(Number.isInteger(age) && age >= 0 && age <= 150).toBe(true)
    expect(tags.every((tag: unknown) => ['a', 'b', 'c'].includes(String(tag)))).toBe(true)
    expect(rest).toEqual({})
  })

  test('a JSON object is one, whatever the weights', async () => {
    let ended = 0
    for (const seed of [1, 2, 3, 4]) {
      const sampling = { temperature: 1, topK: 0, seed }
      const outcome = await complete(
        engine,
        chatRequest('x', { output: { type: 'json-object' }, sampling, maxOutputTokens: 900 }),
      )
      if (outcome.reason !== 'stop') continue
      ended += 1
      expect(JSON.parse(outcome.text)).toEqual(expect.any(Object))
    }
    expect(ended).toBeGreaterThan(0)
  })

  test('a regular expression is matched as a whole', async () => {
    const output = { type: 'regex', pattern: '[A-Z][a-z]{2,8}(-[0-9]{2}){2}' } as const
    const outcome = await complete(
      engine,
      chatRequest('x', { output, sampling: { temperature: 1, seed: 1 }, maxOutputTokens: 100 }),
    )
    expect(outcome).toMatchObject({ reason: 'stop', text: expect.stringMatching(/^[A-Z][a-z]{2,8}(-[0-9]{2}){2}$/) })
  })

  test.each([
    { name: 'a schema that is none', output: { type: 'json-schema', schema: { type: 'nothing' }, strict: false } },
    { name: 'a pattern that does not parse', output: { type: 'regex', pattern: '(' } },
  ] as const)('$name is refused before it runs', async ({ output }) => {
    await expect(engine.prepare(chatRequest('x', { output }), never)).rejects.toMatchObject({ status: 400 })
  })

  test.each([
    {
      name: 'one of all',
      toolChoice: { type: 'required' } as const,
      parallelToolCalls: false,
      names: ['get_weather', 'get_time'],
    },
    {
      name: 'a named one',
      toolChoice: { type: 'required', names: ['get_weather'] } as const,
      parallelToolCalls: false,
      names: ['get_weather'],
    },
    {
      name: 'as many as it likes',
      toolChoice: { type: 'required' } as const,
      parallelToolCalls: true,
      names: ['get_weather', 'get_time'],
    },
  ])('a forced call is a call, and nothing else: $name', async ({ toolChoice, parallelToolCalls, names }) => {
    for (const seed of [1, 2, 3]) {
      const sampling = { temperature: 1.5, topK: 0, minP: 0, seed }
      const options = { toolChoice, parallelToolCalls, sampling, maxOutputTokens: 800, ignoreEos: false }
      const tools = [weather, clock]
      const request = chatRequest('x', { ...chatWithTools('x', tools), ...options })
      const prepared = await engine.prepare(request, never)
      const parser = createOutputParser({ format: prepared.outputFormat, tools, toolChoice, parallelToolCalls })
      const events: GenerationEvent[] = []
      for await (const event of runOf(prepared, never)) {
        if (event.type === 'raw-text') events.push(...parser.push(event))
        if (event.type === 'finish') events.push(...parser.end(event.choice, wasCut(event)))
      }
      expect(parser.calls(0)).toBeGreaterThan(0)
      if (!parallelToolCalls) expect(parser.calls(0)).toBe(1)
      expect(events.filter((event) => event.type === 'text-delta')).toEqual([])
      const calls = new Map<string, { name: string; arguments: string }>()
      for (const event of events) {
        if (event.type === 'tool-call-start') calls.set(event.id, { name: event.name, arguments: '' })
        const call = event.type === 'tool-call-delta' ? calls.get(event.id) : undefined
        if (event.type === 'tool-call-delta' && call !== undefined) call.arguments += event.delta
      }
      for (const call of calls.values()) {
        expect(names).toContain(call.name)
        const keys = call.name === 'get_weather' ? ['city', 'unit'] : []
        expect(Object.keys(JSON.parse(call.arguments)).sort()).toEqual(keys)
      }
    }
  })

  test('where calls are allowed and text is constrained, each is possible, and nothing else', async () => {
    const tools = [clock]
    const options = { output: { type: 'json-schema', schema: { const: 1 }, strict: true }, ignoreEos: false } as const
    const seen = new Set<string>()
    for (let seed = 0; seed < 40; seed++) {
      const sampling = { temperature: 5, topK: 0, minP: 0, topP: 1, seed }
      seen.add(
        (
          await complete(
            engine,
            chatRequest('x', {
              ...chatWithTools('x', tools),
              ...options,
              sampling,
              parallelToolCalls: false,
              maxOutputTokens: 200,
            }),
          )
        ).text,
      )
    }
    expect([...seen].sort()).toEqual(['1', '<tool_call>\n{"name": "get_time", "arguments": {}}\n</tool_call>'])
  })
})

describe('engine llama: reasoning', () => {
  const turns =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}{% endfor %}"
  const marks = '{# <think> and </think> #}'
  let opened: LlamaEngine
  let free: LlamaEngine
  beforeAll(async () => {
    opened = createEngine({ slots: 1, chatTemplate: `${marks}${turns}<|im_start|>assistant\n<think>\n` })
    free = createEngine({ slots: 1, chatTemplate: `${marks}${turns}<|im_start|>assistant\n` })
    await Promise.all([opened.ensureReady(never), free.ensureReady(never)])
  })
  afterAll(() => Promise.all([opened.close(), free.close()]))

  test('the format of the output says where it begins', async () => {
    const format = async (engine: LlamaEngine) => (await engine.prepare(chatRequest('x'), never)).outputFormat
    expect(await format(opened)).toMatchObject({ reasoning: { close: '</think>' }, startsInReasoning: true })
    expect(await format(free)).toMatchObject({ reasoning: { close: '</think>' }, startsInReasoning: false })
    const text = await free.prepare(chatRequest('', { prompt: { type: 'text', text: 'x' } }), never)
    expect(text.outputFormat).toBeUndefined()
  })

  test.each([0, 1, 7])('reasoning is closed after its budget of %i tokens', async (budgetTokens) => {
    const plain = await completeChoices(opened, chatRequest('x', { maxOutputTokens: 40, logprobs: { top: 0 } }))
    const request = chatRequest('x', { maxOutputTokens: 40, reasoning: { budgetTokens }, logprobs: { top: 0 } })
    const { choices, usage } = await completeChoices(opened, request)
    const [choice] = choices
    const within = textOfTokens(plain.choices[0]?.tokens.slice(0, budgetTokens) ?? [])
    expect(choice?.text.startsWith(`${within}</think>`)).toBe(true)
    expect(choice?.text.split('</think>')).toHaveLength(2)
    expect(textOfTokens(choice?.tokens ?? [])).toBe(choice?.text)
    // The mark is one token of this vocabulary, and the model did not think of it.
    expect(choice?.tokens[budgetTokens]).toMatchObject({ text: '</think>' })
    expect(choice?.tokens[budgetTokens]?.logprob).toBeLessThan(-1)
    expect(usage).toMatchObject({ reasoningTokens: budgetTokens, outputTokens: 40 })
  })

  test('a budget does not outlast the limit of tokens', async () => {
    const request = chatRequest('x', { maxOutputTokens: 3, reasoning: { budgetTokens: 3 } })
    expect(await complete(opened, request)).toMatchObject({ reason: 'length', usage: { outputTokens: 3, reasoningTokens: 3 } })
  })

  test('a budget is spent on reasoning that the model opens, and on nothing else', async () => {
    const open = randomVocabulary().tokens.indexOf('<think>')
    const request = chatRequest('x', { maxOutputTokens: 20, reasoning: { budgetTokens: 2 } })
    expect((await complete(free, request)).text).not.toContain('</think>')
    const forced = { ...request, id: 'opening', sampling: { temperature: 0, logitBias: new Map([[open, 100]]) } }
    expect((await complete(free, forced)).text).toMatch(/^(<think>){3}<\/think>(<think>)+$/)
  })

  test('a constraint holds after reasoning that the prompt opened', async () => {
    for (const seed of [1, 2, 3]) {
      const { choices } = await completeChoices(
        opened,
        chatRequest('x', {
          output: { type: 'json-schema', schema: person, strict: true },
          reasoning: { budgetTokens: 10 },
          sampling: { temperature: 1, seed },
          maxOutputTokens: 300,
          choices: 2,
        }),
      )
      for (const { text, finishes } of choices) {
        expect(finishes).toEqual(['stop'])
        const [reasoning, answer] = text.split('</think>')
        expect(reasoning?.length).toBeGreaterThan(0)
        expect(JSON.parse(answer ?? '')).toMatchObject({ name: expect.any(String) })
      }
    }
  })

  test('a constraint lets the model choose whether to reason first, unless it must not', async () => {
    const open = randomVocabulary().tokens.indexOf('<think>')
    const output = { type: 'regex', pattern: '[0-9]{3}' } as const
    const request = chatRequest('x', { output, maxOutputTokens: 100 })
    expect((await complete(free, request)).text).toMatch(/^[0-9]{3}$/)
    const bias = { temperature: 0, logitBias: new Map([[open, 100]]) }
    const thinking = { ...request, id: 'thinking', sampling: bias, reasoning: { budgetTokens: 4 } }
    expect((await complete(free, thinking)).text).toMatch(/^(<think>){5}<\/think>\n{0,2}[0-9]{3}$/)
    const silent = { ...request, id: 'silent', sampling: bias, reasoning: { enabled: false } }
    expect((await complete(free, silent)).text).toMatch(/^[0-9]{3}$/)
  })
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

  test('choices differ by their seed, the same way every time', async () => {
    const request = () => chatRequest('hello', { sampling: { temperature: 1, seed: 7 }, choices: 3, maxOutputTokens: 30 })
    const texts = async () => (await completeChoices(engine, request())).choices.map((choice) => choice.text)
    const first = await texts()
    expect(new Set(first).size).toBe(3)
    expect(await texts()).toEqual(first)
  })

  test.each([
    { name: 'plain', sampling: {} },
    { name: 'with penalties', sampling: { repetitionPenalty: 1.3, presencePenalty: 0.5, frequencyPenalty: 0.5 } },
    { name: 'with XTC', sampling: { xtc: { probability: 0.5, threshold: 0.05 } } },
    {
      name: 'with DRY',
      sampling: { dry: { multiplier: 2, base: 1.75, allowedLength: 1, range: -1, sequenceBreakers: ['\n'] } },
    },
  ])('log-probabilities change nothing about the text: $name', async ({ sampling }) => {
    const request = chatRequest('hello', { sampling: { temperature: 1, seed: 7, ...sampling }, maxOutputTokens: 80 })
    const plain = await complete(engine, request)
    const scored = await completeChoices(engine, { ...request, id: `${request.id}-scored`, logprobs: { top: 5 } })
    expect(scored.choices[0]?.text).toBe(plain.text)
  })

  test('log-probabilities are those of the model itself, whatever the sampling', async () => {
    const score = async (sampling: object) => {
      const request = chatRequest('hello', { sampling, maxOutputTokens: 1, logprobs: { top: 20 } })
      return (await completeChoices(engine, request)).choices[0]?.tokens[0]
    }
    const greedy = await score({ temperature: 0 })
    const forced = await score({ temperature: 2, topK: 1, minP: 0.9, logitBias: new Map([[65, 100]]) })
    expect(forced?.id).toBe(65)
    expect(forced?.top).toEqual(greedy?.top)
    expect(greedy?.logprob).toBe(greedy?.top[0]?.logprob)
    expect(greedy?.top).toHaveLength(20)
    // All of the vocabulary, one forced token at a time, adds up to 1.
    const size = randomVocabulary().tokens.length
    let sum = 0
    for (let id = 3; id < size; id++)
      sum += Math.exp((await score({ temperature: 0, logitBias: new Map([[id, 100]]) }))?.logprob ?? 0)
    expect(sum).toBeGreaterThan(0.99)
    expect(sum).toBeLessThan(1.0001)
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
    await expect(complete(engine, request)).rejects.toMatchObject({ code: 'engine-failed' })
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
    await expect(engine.prepare(request, never)).rejects.toMatchObject({ code: 'invalid-request', param: 'logit_bias' })
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
      await expect(engine.prepare(wrong, never)).rejects.toMatchObject({ code: 'invalid-request', param: 'prompt' })
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
    const ended = runOf(prepared, controller.signal)
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
