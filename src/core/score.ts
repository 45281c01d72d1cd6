import { randomUUID } from 'node:crypto'
import type { RankRequest } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import { plainRequest } from '../contract/request.ts'
import { foldEvents } from '../contract/result.ts'
import type { Scores } from '../contract/scores.ts'
import { type GenerateDeps, generate } from './generate.ts'
import { rank } from './rank.ts'
import type { AskOptions } from './text-work.ts'
import { withPlace } from './with-place.ts'

/**
 * Scores texts with the model's ranking head or, where it has none, by what it would write. `model` is the id of the model that
 * did. The `param` of a text at fault is `texts[index]`.
 */
export async function score(
  deps: GenerateDeps,
  { texts }: Pick<RankRequest, 'texts'>,
  options: AskOptions,
): Promise<Scores & { readonly model: string }> {
  const { model, signal } = options
  const ranks = await withPlace(deps, model, async ({ engine }) => {
    await engine.ensureReady(signal)
    return engine.facts.ranks === true
  })
  if (ranks) {
    const { scores, inputTokens, model: id } = await rank(deps, { texts }, options)
    return { scores, method: 'ranking-head', inputTokens, model: id }
  }
  const scored: TextScore[] = []
  for (const [index, text] of texts.entries()) {
    try {
      scored.push(await scoreText(deps, text, options))
    } catch (error) {
      throw nameText(error, index)
    }
  }
  return {
    scores: scored.map(({ sum }) => sum),
    method: 'log-likelihood',
    scoredTokens: scored.map(({ scoredTokens }) => scoredTokens),
    inputTokens: scored.reduce((sum, { inputTokens }) => sum + inputTokens, 0),
    model: deps.resolveModel(model).id,
  }
}

type TextScore = { readonly sum: number; readonly scoredTokens: number; readonly inputTokens: number }

/** One text: a prompt that is read, and not continued. */
async function scoreText(deps: GenerateDeps, text: string, { model, signal }: AskOptions): Promise<TextScore> {
  const request = {
    ...plainRequest,
    id: `score-${randomUUID()}`,
    model,
    prompt: { type: 'text', text },
    promptTokens: { logprobs: { top: 0 } },
    maxOutputTokens: 0,
  } as const
  const { choices, usage } = await foldEvents(generate(deps, request, signal))
  const logprobs = choices.flatMap(({ promptTokens = [] }) => promptTokens.flatMap(({ logprob }) => logprob ?? []))
  return {
    sum: logprobs.reduce((sum, logprob) => sum + logprob, 0),
    scoredTokens: logprobs.length,
    inputTokens: usage.inputTokens,
  }
}

/** What a generation calls its prompt, or an echo of it, is a text here. */
function nameText(error: unknown, index: number): unknown {
  if (!(error instanceof AppError)) return error
  const { code, overflow } = error
  if (code === 'unsupported-field' && error.param === 'echo') {
    const message = 'the engine of this model scores no texts; choose a model of the embedded engine'
    return new AppError('invalid-request', message, { param: 'model', cause: error })
  }
  if (overflow !== undefined) {
    const { inputTokens, contextLength } = overflow
    const about = overflow.estimated === true ? 'about ' : ''
    const message = `the maximum context length for one text is ${contextLength} tokens, but texts[${index}] has ${about}${inputTokens}; shorten or split it`
    return new AppError(code, message, { param: `texts[${index}]`, overflow, cause: error })
  }
  if (error.param !== undefined || code !== 'invalid-request') return error
  return new AppError(code, `texts[${index}]: ${error.message}`, { param: `texts[${index}]`, cause: error })
}
