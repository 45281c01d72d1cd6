import { describe, expect, test } from 'vitest'
import type { GeneratedToken } from '../../contract/event.ts'
import type { Choice, GenerationResult } from '../../contract/result.ts'
import { decodeDecisions } from './decode.ts'
import { openaiDecisions } from './dialect.ts'
import { encodeDecisions } from './encode.ts'

const predicate = { type: 'predicate', name: 'refund', instructions: 'Is it about money?' }
const choice = {
  type: 'choice',
  instructions: 'Which team?',
  choices: [{ value: 'billing', description: 'payments' }, { value: true }, { value: 'other' }],
}
const score = { type: 'score', name: 'anger', instructions: 'How angry?', levels: [{ label: 'calm' }, { label: 'angry' }] }
const tabby = [
  { id: 'a', type: 'yes_no', question: 'Money?', yes_description: 'any sum' },
  { id: 'b', type: 'choice', question: 'Team?', options: [{ name: 'billing' }, { name: 'other' }] },
  { id: 'c', type: 'score', question: 'Angry?', levels: ['calm', 'cross', 'angry'] },
]

const decode = (fields: object) => decodeDecisions({ model: 'm', input: 'I paid twice.', questions: [predicate], ...fields }, 'd')

/** What the model is shown of each question. */
function shown(fields: object): string[] {
  return decode(fields).requests.map(({ prompt }) => {
    const last = prompt.type === 'chat' ? prompt.messages.at(-1) : undefined
    return last?.role === 'user' ? last.content.map((part) => (part.type === 'text' ? part.text : part.type)).join('|') : ''
  })
}

/** A token with these probabilities, of which the model wrote the first. */
function token(probabilities: Readonly<Record<string, number>>): GeneratedToken {
  const top = Object.entries(probabilities).map(([text, one]) => ({ id: 0, text, bytes: [], logprob: Math.log(one) }))
  return { ...(top[0] as (typeof top)[number]), top }
}

function answersTo(fields: object, tokens: readonly (GeneratedToken | undefined)[], parts: Choice['parts'] = []) {
  const choices = tokens.map((one): Choice => ({ parts, tokens: one === undefined ? [] : [one], finish: { reason: 'length' } }))
  const usage = { inputTokens: 10, cachedInputTokens: 4, outputTokens: 2, reasoningTokens: 0 }
  const result = { start: { type: 'start', model: 'served' }, choices, usage, timings: {} } as unknown as GenerationResult
  return encodeDecisions(decode(fields), result) as { answers: unknown; usage: unknown }
}

describe('a decision is asked', () => {
  test('as one generation of one token for each question, after a shared beginning', () => {
    const { requests } = decode({ questions: [predicate, choice, score] })
    expect(requests.map(({ id }) => id)).toEqual(['d', 'd-1', 'd-2'])
    for (const request of requests) {
      expect(request).toMatchObject({
        maxOutputTokens: 1,
        logprobs: { top: 20, topHere: 1000 },
        sampling: { temperature: 0 },
        reasoning: { enabled: false, isWish: true },
      })
    }
    const [first, second, third] = shown({ questions: [predicate, choice, score] })
    expect(first).toBe('I paid twice.\n\nIs it about money?\nAnswer in one word, Yes or No.')
    expect(second).toMatch(/^I paid twice\.\n\nWhich team\?\nA: billing - payments\nB: true\nC: other\nAnswer with the letter/)
    expect(third).toMatch(/^I paid twice\.\n\nHow angry\?\n0: calm\n1: angry\nAnswer with the number/)
  })

  test('behind a conversation with pictures and JSON', () => {
    const image = { type: 'input_image', image_url: 'data:image/png;base64,AAAA' }
    const input = [
      { role: 'user', content: [{ type: 'input_json', data: { sum: 2 } }] },
      { role: 'assistant', content: 'Hm.' },
      { role: 'user', content: [image] },
    ]
    const { requests } = decode({ input })
    expect(requests[0].prompt).toMatchObject({ messages: [{ content: [{ text: '{"sum":2}' }] }, { role: 'assistant' }, {}] })
    expect(shown({ input })[0]).toMatch(/^media\|Is it about money\?/)
    const answered = [...input.slice(0, 2)]
    expect(shown({ input: answered })[0]).toMatch(/^Is it about money\?/)
  })

  test("in tabbyAPI's form, whose input may be any JSON", () => {
    const [first] = shown({ input: { sum: 2 }, questions: tabby })
    expect(first).toBe('{"sum":2}\n\nMoney?\nYes: any sum\nAnswer in one word, Yes or No.')
  })

  test('with thoughts or variables of a template where it says so', () => {
    const [request] = decode({ enable_thinking: true, template_vars: { a: 1 } }).requests
    expect(request).toMatchObject({ reasoning: { enabled: true }, prompt: { templateVariables: { a: 1 } } })
  })

  test.each<[object, string]>([
    [{ questions: [] }, 'questions'],
    [{ questions: [{ type: 'box' }] }, 'questions[0].type'],
    [{ questions: [{ type: 'predicate' }] }, 'questions[0].instructions'],
    [{ questions: [{ ...choice, choices: [{ value: 'a' }] }] }, 'questions[0].choices'],
    [{ questions: [{ ...choice, choices: undefined }] }, 'questions[0].choices'],
    [{ questions: [{ ...choice, choices: [{ value: 'a' }, { value: 'a' }] }] }, 'questions[0]'],
    [
      { questions: [{ ...choice, choices: Array.from({ length: 27 }, (_, index) => ({ value: `${index}` })) }] },
      'questions[0].choices',
    ],
    [{ questions: [{ ...score, levels: ['one'] }] }, 'questions[0].levels'],
    [{ questions: [{ ...tabby[0], id: undefined }] }, 'questions[0].id'],
    [{ questions: [tabby[0], tabby[0]] }, 'questions[1].id'],
    [{ input: '' }, 'input'],
    [{ input: [{ role: 'user', content: [{ type: 'smell' }] }] }, 'input[0].content[0].type'],
    [{ temperature: 0 }, 'temperature'],
  ])('%j is refused with its param', (fields, param) => {
    expect(() => decode(fields)).toThrow(expect.objectContaining({ param }))
  })

  test('what has no effect is listed', () => {
    const fields = { stream: true, prompt_cache_options: {}, questions: [{ ...predicate, weight: 2 }] }
    expect(decode(fields).ignored).toEqual(['stream', 'questions[].weight'])
  })
})

describe('a decision is answered', () => {
  test("in OpenAI's form, in the order of the questions", () => {
    const tokens = [token({ Yes: 0.6, No: 0.2, ' yes': 0.1 }), token({ B: 0.5, A: 0.3, x: 0.2 }), token({ 1: 0.75, 0: 0.25 })]
    const reply = answersTo({ questions: [predicate, choice, score] }, tokens)
    expect(reply).toMatchObject({
      model: 'served',
      usage: { input_tokens: 10, input_tokens_details: { cached_tokens: 4 }, output_tokens: 2, total_tokens: 12 },
      answers: [
        { type: 'predicate', name: 'refund', probability: expect.closeTo(0.7 / 0.9) },
        {
          type: 'choice',
          name: null,
          choice: true,
          confidence: expect.closeTo(0.625),
          probabilities: [
            { value: 'billing', probability: expect.closeTo(0.375) },
            { value: true, probability: expect.closeTo(0.625) },
            { value: 'other', probability: 0 },
          ],
        },
        {
          type: 'score',
          name: 'anger',
          score: expect.closeTo(0.75),
          probabilities: [
            { label: 'calm', value: 0 },
            { label: 'angry', value: 1 },
          ],
        },
      ],
    })
  })

  test("in tabbyAPI's form, by the ids of the questions", () => {
    const tokens = [token({ yes: 0.6, no: 0.2 }), token({ A: 0.4, B: 0.1 }), token({ 2: 0.5, 0: 0.5 })]
    const reply = answersTo({ questions: tabby }, tokens)
    expect(reply).toMatchObject({ object: 'decisions', model: 'served', prompt_format_version: 1 })
    expect(reply.answers).toMatchObject({
      a: {
        type: 'yes_no',
        probabilities: { yes: expect.closeTo(0.75), no: expect.closeTo(0.25) },
        label_mass: expect.closeTo(0.8),
      },
      b: { type: 'choice', choice: 'billing', probabilities: { A: expect.closeTo(0.8) }, label_mass: expect.closeTo(0.5) },
      c: { type: 'score', score: expect.closeTo(1), probabilities: { 0: 0.5, 1: 0, 2: 0.5 } },
    })
  })

  test('with a temperature, which flattens the probabilities and leaves their mass', () => {
    const { answers } = answersTo({ questions: tabby.slice(0, 1), temperature: 2 }, [token({ yes: 0.64, no: 0.04 })])
    expect(answers).toMatchObject({ a: { probabilities: { yes: expect.closeTo(0.8) }, label_mass: expect.closeTo(0.68) } })
  })

  test('with a refusal, or an error, where the model says something else', () => {
    expect(answersTo({ questions: [predicate, predicate] }, [token({ Maybe: 1 }), undefined]).answers).toEqual([
      { type: 'refusal', name: 'refund' },
      { type: 'refusal', name: 'refund' },
    ])
    expect(() => answersTo({ questions: tabby.slice(0, 1) }, [token({ Maybe: 1 })])).toThrow(/'a' was answered with 'Maybe'/)
  })

  test('with an error where the model thinks first', () => {
    const thought = [{ type: 'reasoning', text: 'Hm' }] as const
    expect(() => answersTo({}, [token({ Hm: 1 })], thought)).toThrow(/thinks before it answers/)
    expect(() => answersTo({}, [token({ Hm: 0.9, Yes: 0.1 })], thought)).toThrow(/thinks before it answers/)
    for (const mark of ['<think>', '[THINK]', '<|thought|>', '<reasoning>'])
      expect(() => answersTo({}, [token({ [mark]: 1 })])).toThrow(/thinks before it answers/)
  })
})

test('log-probabilities that a server lacks are those of the questions', () => {
  const call = openaiDecisions.decode({ body: { model: 'm', input: 'a', questions: [predicate] }, headers: {} }, { id: 'd' }) as {
    nameOf(path: readonly (string | number)[]): string
  }
  expect(call.nameOf(['logprobs'])).toBe('questions')
  expect(call.nameOf(['prompt', 'messages', 0])).toBe('input')
})
