import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { GenerationEvent } from '../../../src/contract/event.ts'
import { isTruncated } from '../../../src/contract/is-truncated.ts'
import { type GenerationRequest, plainChat, type Tool } from '../../../src/contract/request.ts'
import type { LlamaEngine } from '../../../src/engine/llama/engine.ts'
import { createOutputParser } from '../../../src/model-text/parse/output-parser.ts'
import { chatRequest, complete, completeChoices, textOfTokens } from '../../engine-contract.ts'
import { runOf } from '../../support/http/iterate.ts'
import { createRandomEngine } from '../../support/llama/random-engine.ts'
import { randomVocabulary } from '../../support/llama/random-vocabulary.ts'

const never = new AbortController().signal

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
    engine = createRandomEngine({ toolFormat: 'hermes' })
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
    await expect(engine.prepare(chatRequest('x', { output }), never)).rejects.toMatchObject({
      code: expect.stringMatching(/^(invalid-request|unsupported-field)$/),
    })
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
        if (event.type === 'finish') events.push(...parser.end(event.choice, isTruncated(event)))
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

test('special tokens are in the text of a raw prompt on request only', async () => {
  const engine = createRandomEngine({ slots: 1 })
  onTestFinished(() => engine.close())
  const sampling = { temperature: 0, logitBias: new Map([[randomVocabulary().tokens.indexOf('<|im_start|>'), 100]]) }
  const request = { ...chatRequest('x', { sampling, maxOutputTokens: 2 }), prompt: { type: 'tokens', tokens: [40] } } as const
  expect((await complete(engine, { ...request, showsSpecialTokens: true })).text).toBe('<|im_start|><|im_start|>')
  expect((await complete(engine, { ...request, id: 'hidden' })).text).toBe('')
})

describe('engine llama: reasoning', () => {
  const turns =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}{% endfor %}"
  const marks = '{# <think> and </think> #}'
  let opened: LlamaEngine
  let free: LlamaEngine
  beforeAll(async () => {
    opened = createRandomEngine({ slots: 1, chatTemplate: `${marks}${turns}<|im_start|>assistant\n<think>\n` })
    free = createRandomEngine({ slots: 1, chatTemplate: `${marks}${turns}<|im_start|>assistant\n` })
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
    // The closing tag is one token of this vocabulary, and the model did not write it.
    expect(choice?.tokens[budgetTokens]).toMatchObject({ text: '</think>' })
    expect(choice?.tokens[budgetTokens]?.logprob).toBeLessThan(-1)
    expect(usage).toMatchObject({ reasoningTokens: budgetTokens, outputTokens: 40 })
  })

  test.each([
    { text: 'the message of the budget ends the reasoning', budgetMessage: ' That is enough.\n', shown: ' That is enough.\n' },
    { text: 'a message is text, which closes nothing', budgetMessage: 'one</think>two', shown: 'one' },
  ])('$text', async ({ budgetMessage, shown }) => {
    const plain = await completeChoices(opened, chatRequest('x', { maxOutputTokens: 60, logprobs: { top: 0 } }))
    const request = chatRequest('x', { maxOutputTokens: 60, reasoning: { budgetTokens: 2, budgetMessage } })
    const { choices, usage } = await completeChoices(opened, request)
    const within = textOfTokens(plain.choices[0]?.tokens.slice(0, 2) ?? [])
    expect(choices[0]?.text.startsWith(`${within}${shown}</think>`)).toBe(true)
    expect(choices[0]?.text.split('</think>')).toHaveLength(2)
    expect(usage?.reasoningTokens).toBeGreaterThan(2)
  })

  test('a message stands before a constrained answer', async () => {
    const request = chatRequest('x', {
      maxOutputTokens: 200,
      output: { type: 'json-schema', schema: person, strict: true },
      reasoning: { budgetTokens: 3, budgetMessage: 'Enough.' },
    })
    const [thought = '', reply = ''] = (await complete(opened, request)).text.split('</think>')
    expect(thought).toMatch(/Enough\.$/)
    expect(JSON.parse(reply)).toMatchObject({ name: expect.any(String) })
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
