import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { AppError } from '../../../src/contract/errors.ts'
import type { GenerationRequest } from '../../../src/contract/request.ts'
import type { LoadOptions } from '../../../src/engine/llama/channel/ipc.ts'
import { LlamaEngine } from '../../../src/engine/llama/engine.ts'
import { chatRequest, completeChoices } from '../../engine-contract.ts'
import { runOf } from '../../support/http/iterate.ts'
import { randomModel } from '../../support/llama/models.ts'
import { comparable, expectSame, isOnGpu } from '../../support/llama/same-text.ts'

const never = new AbortController().signal
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined }
const modelPath = fileURLToPath(new URL('../../../models/dragoman-tiny.gguf', import.meta.url))
const options = { modelPath, slots: 4, contextLength: 512, threads: 1, flashAttention: true }
const story = 'The cat sat on the mat. The cat sat on the mat. The cat sat on the mat. The cat sat on the'
const sampling = { temperature: 1, topK: 20, seed: 5 }

function createEngine(more: Partial<LoadOptions> = {}): LlamaEngine {
  return new LlamaEngine({ id: 'tiny', locate: async () => ({ ...options, ...more }), log: quiet })
}

type Asked = { readonly name: string; readonly request: Partial<GenerationRequest> }

/** What drafts may not change. */
const plain = createEngine()
const told = new Map<string, ReturnType<typeof completeChoices>>()
function tellPlainly({ name, request }: Asked) {
  const known = told.get(name) ?? completeChoices(plain, comparable(chatRequest(story, request)))
  told.set(name, known)
  return known
}
beforeAll(() => plain.ensureReady(never))
afterAll(() => plain.close())

describe.each<{ name: string; more: Partial<LoadOptions> }>([
  { name: 'by prompt lookup', more: { speculation: { type: 'ngram', maxTokens: 6, always: true } } },
  // Uncertain drafts are rejected, too.
  { name: 'with a draft model', more: { draft: { modelPath, minProbability: 0.2, always: true } } },
])('speculation $name on the embedded engine', ({ more }) => {
  const speculating = createEngine(more)
  beforeAll(() => speculating.ensureReady(never))
  afterAll(() => speculating.close())

  test.each<Asked>([
    { name: 'greedy', request: { sampling: { temperature: 0 }, maxOutputTokens: 200, ignoreEos: true } },
    { name: 'sampled', request: { sampling, maxOutputTokens: 120, ignoreEos: true } },
    { name: 'up to its own end', request: { sampling, maxOutputTokens: 200 } },
    { name: 'up to a stop sequence', request: { sampling: { temperature: 0 }, stop: ['a'], maxOutputTokens: 100 } },
    { name: 'until the context is full', request: { sampling: { temperature: 0 }, ignoreEos: true } },
    { name: 'with log-probabilities', request: { sampling, maxOutputTokens: 60, logprobs: { top: 2 } } },
    { name: 'within a grammar', request: { sampling, output: { type: 'regex', pattern: '(ab|cd){20,30}' } } },
    { name: 'with a penalty', request: { sampling: { ...sampling, repetitionPenalty: 1.1 }, maxOutputTokens: 80 } },
    { name: 'with penalties of the output', request: { sampling: { ...sampling, frequencyPenalty: 0.5 }, maxOutputTokens: 80 } },
    { name: 'with DRY', request: { sampling: { ...sampling, dry: { multiplier: 0.5 } }, maxOutputTokens: 80 } },
    { name: 'in several choices', request: { sampling, choices: 6, maxOutputTokens: 40, ignoreEos: true } },
  ])('changes nothing about a text: $name', { tags: ['gpu'] }, async (asked) => {
    const speculative = completeChoices(speculating, comparable(chatRequest(story, asked.request)))
    const [expected, drafted] = await Promise.all([tellPlainly(asked), speculative])
    for (const [index, choice] of expected.choices.entries()) expectSame(drafted.choices[index], choice, `choice ${index}`)
    const { drafts, ...usage } = drafted.usage ?? {}
    if (!isOnGpu) expect(usage).toMatchObject({ outputTokens: expected.usage?.outputTokens })
    expect(drafts?.proposed).toBeGreaterThanOrEqual(drafts?.accepted ?? Number.NaN)
  })

  test('counts what it drafted, and what the model chose too', async () => {
    const request = chatRequest(story, { sampling: { temperature: 0 }, maxOutputTokens: 200, ignoreEos: true })
    const { usage } = await completeChoices(speculating, request)
    // A small model repeats itself.
    expect(usage?.drafts?.accepted).toBeGreaterThan(50)
    expect((await completeChoices(plain, request)).usage).not.toHaveProperty('drafts')
  })

  test('leaves a slot that the next request can use', { tags: ['gpu'] }, async () => {
    const ask = (engine: LlamaEngine, text: string) =>
      completeChoices(
        engine,
        comparable(chatRequest(text, { sampling: { temperature: 0 }, maxOutputTokens: 30, ignoreEos: true })),
      )
    for (const text of [story, `${story} mat.`, story]) {
      const [expected, drafted] = await Promise.all([ask(plain, text), ask(speculating, text)])
      expectSame(drafted.choices[0], expected.choices[0])
    }
  })

  test('ends with its request', async () => {
    const controller = new AbortController()
    const reason = new AppError('cancelled', 'enough')
    const prepared = await speculating.prepare(chatRequest(story, { maxOutputTokens: 300, ignoreEos: true }), never)
    const run = async () => {
      for await (const event of runOf(prepared, controller.signal)) if (event.type === 'raw-text') controller.abort(reason)
    }
    await expect(run()).rejects.toBe(reason)
  })
})

describe('what a grammar makes certain', () => {
  const engine = createEngine()
  beforeAll(() => engine.ensureReady(never))
  afterAll(() => engine.close())

  const output = { type: 'regex', pattern: '(\\{"name of the thing": "[a-z]{1,8}", "number": [0-9]\\} ){12}' } as const
  const tell = (request: Partial<GenerationRequest> = {}) =>
    completeChoices(engine, chatRequest(story, { sampling, output, maxOutputTokens: 300, ...request }))

  test('is drafted for a stream that runs alone, and changes nothing about its text', async () => {
    // Tokens that may be taken back are not drafted.
    const plain = await tell({ sampling: { ...sampling, bannedStrings: ['never there'] } })
    const drafted = await tell()
    expect(plain.usage).not.toHaveProperty('drafts')
    expect(drafted.choices[0]?.text).toBe(plain.choices[0]?.text)
    expect(drafted.usage?.drafts?.accepted).toBeGreaterThan(0)
  })
})

describe('a draft model', () => {
  const engines: LlamaEngine[] = []
  const load = async (more: Partial<LoadOptions>) => {
    const engine = createEngine(more)
    engines.push(engine)
    await engine.ensureReady(never)
    return engine
  }
  afterEach(() => Promise.all(engines.splice(0).map((engine) => engine.close())))

  const greedy: Partial<GenerationRequest> = { sampling: { temperature: 0 }, maxOutputTokens: 60, ignoreEos: true }
  const draftsOf = async (engine: LlamaEngine, request: Partial<GenerationRequest> = greedy) =>
    (await completeChoices(engine, chatRequest(story, request))).usage?.drafts ?? { proposed: Number.NaN, accepted: Number.NaN }

  test('that is the model itself drafts what the model says', async () => {
    const engine = await load({ draft: { modelPath, maxTokens: 6, minProbability: 0, always: true } })
    const { proposed, accepted } = await draftsOf(engine)
    // The prompt was read in the first rounds, without a draft.
    expect(accepted).toBeGreaterThan(40)
    expect(accepted / proposed).toBeGreaterThan(0.9)
  })

  test('drafts for each choice on its own slot', async () => {
    const engine = await load({ draft: { modelPath, maxTokens: 6, minProbability: 0, always: true } })
    const { proposed, accepted } = await draftsOf(engine, { ...greedy, choices: 3 })
    expect(accepted).toBeGreaterThan(3 * 40)
    expect(accepted / proposed).toBeGreaterThan(0.9)
  })

  test('stops where it is not certain, and keeps short drafts to itself', async () => {
    const sampled = { ...greedy, sampling }
    const eager = await draftsOf(await load({ draft: { modelPath, maxTokens: 6, minProbability: 0, always: true } }), sampled)
    const certain = await draftsOf(await load({ draft: { modelPath, maxTokens: 6, minProbability: 0.9, always: true } }), sampled)
    expect(certain.proposed).toBeLessThan(eager.proposed)
    expect(certain.accepted / certain.proposed).toBeGreaterThan(eager.accepted / eager.proposed)
    const long = await draftsOf(
      await load({ draft: { modelPath, maxTokens: 6, minTokens: 6, minProbability: 0, always: true } }),
      sampled,
    )
    expect(long.proposed).toBeGreaterThan(0)
    expect(long.proposed % 6).toBe(0)
  })

  test('with another vocabulary is refused with its path', async () => {
    const other = await randomModel()
    await expect(load({ draft: { modelPath: other } })).rejects.toMatchObject({
      code: 'model-unavailable',
      message: expect.stringMatching(new RegExp(`draft model '${other}' cannot be used: it has another vocabulary`)),
    })
  })

  test('that is not there is refused with its path', async () => {
    await expect(load({ draft: { modelPath: '/nowhere.gguf' } })).rejects.toThrow("draft model '/nowhere.gguf' cannot be used")
  })
})
