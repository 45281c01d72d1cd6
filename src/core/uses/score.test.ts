import { expect, test } from 'vitest'
import { contextOf } from '../../../test/support/http/context.ts'
import { stubEngine } from '../../../test/support/upstream/stub-engine.ts'
import { emitAll } from '../../base/emit.ts'
import type { DetokenizeRequest, Engine, PreparedGeneration, TokenizeRequest, Tokenizer } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import type { EngineEvent, PromptToken } from '../../contract/event.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import { score } from './score.ts'

const deps = { now: () => 0 }
const usage = { inputTokens: 3, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 }

function token(logprob?: number): PromptToken {
  return { id: 1, text: 'a', bytes: [97], top: [], ...(logprob !== undefined && { logprob }) }
}

/** An engine that scores each word as the number it spells; `long` does not fit. */
function open(
  engine: Partial<Engine> = {},
  tells: Pick<PreparedGeneration, 'reportsPrompt'> = { reportsPrompt: true },
  slots = 1,
) {
  const asked: GenerationRequest[] = []
  let most = 0
  async function* run(text: string): AsyncGenerator<EngineEvent> {
    expect(load().busy).toBeGreaterThan(0)
    most = Math.max(most, load().busy)
    yield { type: 'prompt-tokens', choice: 0, promptTokens: [token()] }
    yield { type: 'prompt-tokens', choice: 0, promptTokens: text.split(' ').map((word) => token(Number(word))) }
    yield { type: 'finish', choice: 0, reason: 'length' }
    yield { type: 'usage', usage, timings: {} }
  }
  const full = stubEngine({
    prepare: async (request) => {
      asked.push(request)
      const text = request.prompt.type === 'text' ? request.prompt.text : ''
      const overflow = { inputTokens: 9, contextLength: 4 }
      if (text === 'long') throw new AppError('context-length-exceeded', 'too long', { overflow })
      return { ...tells, run: (_, emit) => emitAll(run(text), emit) }
    },
    ...engine,
  })
  const context = contextOf(full, { slots, maxQueued: 0 })
  const load = () => context.model.scheduler.load
  return { context, load, asked, mostBusy: () => most }
}

test('without a ranking head, the score is the sum of the log-probabilities, and nothing is generated', async () => {
  const { context, load, asked } = open()
  expect(await score(deps, { texts: ['-1 -2.5', '-4'] }, context)).toEqual({
    scores: [-3.5, -4],
    method: 'log-likelihood',
    scoredTokens: [2, 1],
    inputTokens: 6,
    model: 'm',
    truncated: [false, false],
  })
  expect(asked.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([0, 0])
  expect(load()).toMatchObject({ busy: 0, queued: 0 })
})

test('a ranking head is used where there is one', async () => {
  const rank = async () => ({ scores: [7], areProbabilities: false, inputTokens: 2 })
  const { context, asked } = open({ facts: { ranks: true }, capabilities: { ranker: { rank } } })
  const scored = await score(deps, { texts: ['a'] }, context)
  expect(scored).toEqual({ scores: [7], method: 'ranking-head', inputTokens: 2, model: 'm', truncated: [false] })
  expect(asked).toEqual([])
})

test('with a limit, a text that the model has no room for is cut to what it reads', async () => {
  const words = {
    tokenize: async ({ prompt }: TokenizeRequest) => (prompt.type === 'text' ? prompt.text.split(' ') : []),
    detokenize: async ({ tokens }: { readonly tokens: readonly unknown[] }) => tokens.join(' '),
  }
  const rank = async ({ texts }: { readonly texts: readonly string[] }) => {
    const inputTokens = texts[0]?.split(' ').length ?? 0
    const overflow = { inputTokens, contextLength: 2 }
    if (inputTokens > 2) throw new AppError('context-length-exceeded', 'too long', { at: ['texts', 0], overflow })
    return { scores: [7], areProbabilities: false, inputTokens }
  }
  const capabilities = { ranker: { rank }, tokenizer: words as unknown as Tokenizer }
  const { context } = open({ facts: { ranks: true }, capabilities })
  expect(await score(deps, { texts: ['a b c d'], maxTokens: 100 }, context)).toMatchObject({ inputTokens: 2, truncated: [true] })
  await expect(score(deps, { texts: ['a b c d'] }, context)).rejects.toMatchObject({ code: 'context-length-exceeded' })
})

test('of a text that is longer than the limit, only its first tokens are read', async () => {
  const words = {
    tokenize: async ({ prompt }: TokenizeRequest) => (prompt.type === 'text' ? prompt.text.split(' ').map(Number) : []),
    detokenize: async ({ tokens }: DetokenizeRequest) => tokens.join(' '),
  }
  const { context, asked } = open({ capabilities: { tokenizer: words as unknown as Tokenizer } })
  const scored = await score(deps, { texts: ['-1 -2 -4', '-8'], maxTokens: 2 }, context)
  expect(scored).toMatchObject({ scores: [-3, -8], scoredTokens: [2, 1], truncated: [true, false] })
  expect(asked).toHaveLength(2)
})

test('texts are scored side by side, and their scores come in order', async () => {
  const { context, mostBusy } = open({}, { reportsPrompt: true }, 4)
  const scored = await score(deps, { texts: ['-1', '-2', '-30', '-4', '-500'] }, context)
  expect(scored.scores).toEqual([-1, -2, -30, -4, -500])
  expect(mostBusy()).toBe(4)
})

test.each([1, 8])('a text that does not fit is named, with both numbers, before another is read, on %i slots', async (slots) => {
  const { context, asked } = open({}, { reportsPrompt: true }, slots)
  const scored = score(deps, { texts: ['-1', '-2', '-3', 'long', '-5'] }, context)
  await expect(scored).rejects.toMatchObject({
    code: 'context-length-exceeded',
    at: ['texts', 3],
    message: expect.stringMatching(/ 4 .*texts\[3\] has 9/),
  })
  expect(asked).toHaveLength(1)
})

test('an engine that does not report prompt tokens is refused by name', async () => {
  const { context } = open({}, {})
  const scored = score(deps, { texts: ['-1'] }, context)
  await expect(scored).rejects.toMatchObject({ code: 'invalid-request', at: ['model'] })
})
