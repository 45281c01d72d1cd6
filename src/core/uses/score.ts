import { randomUUID } from 'node:crypto'
import type { RequestContext } from '../../contract/context.ts'
import type { EmbedInput, RankRequest, Scores } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import { field } from '../../contract/field.ts'
import { type GenerationRequest, plainRequest } from '../../contract/request.ts'
import { type Choice, foldEvents } from '../../contract/result.ts'
import { type GenerateDeps, generate } from '../generate.ts'
import { cutToFit, firstTokens } from './cut-to-fit.ts'
import { rank } from './rank.ts'
import { type TicketedModel, withTicket } from './with-ticket.ts'

/** `maxTokens`: texts are truncated to this many tokens, and to the model's room; absent: too long a text is refused. */
type ScoreRequest = Pick<RankRequest, 'texts'> & { readonly maxTokens?: number }

/**
 * Scores texts with the model's ranking head or, without one, by the log-likelihood of their tokens. `model` is the id of the model
 * that served. Failures about one text are at `['texts', index]`.
 */
export async function score(
  deps: GenerateDeps,
  { texts: whole, maxTokens }: ScoreRequest,
  context: RequestContext,
): Promise<Scores & { readonly model: string; readonly truncated: readonly boolean[] }> {
  const { model, signal } = context
  const findOut = async ({ engine, ticket }: TicketedModel) => {
    await ticket.ready(signal)
    return engine.facts.ranks === true
  }
  const ranks = await withTicket(context, findOut, 'free')
  const scoreTexts = (texts: readonly string[]) => (ranks ? scoreByHead(texts, context) : scoreByLikelihood(deps, texts, context))
  if (maxTokens === undefined) return { ...(await scoreTexts(whole)), model: model.id, truncated: whole.map(() => false) }
  const given = whole.map((text) => ({ type: 'text', text }) as const)
  const first = await firstTokens(given, maxTokens, context)
  const { result, cut } = await cutToFit(first, (inputs) => scoreTexts(inputs.map(textOf)), context)
  const truncated = whole.map((_, index) => first[index] !== given[index] || cut.includes(index))
  return { ...result, model: model.id, truncated }
}

function textOf(input: EmbedInput): string {
  return input.type === 'text' ? input.text : ''
}

async function scoreByHead(texts: readonly string[], context: RequestContext): Promise<Scores> {
  const { scores, inputTokens } = await rank({ texts }, context)
  return { scores, method: 'ranking-head', inputTokens }
}

/** The longest text goes first: if the model has no room for it, nothing was read in vain. */
async function scoreByLikelihood(deps: GenerateDeps, texts: readonly string[], context: RequestContext): Promise<Scores> {
  const longestFirst = [...texts.entries()].sort(([, a], [, b]) => b.length - a.length)
  const [first, ...rest] = longestFirst.map(([, text]) => scoreRequest(text, context.model.id))
  if (first === undefined) return { scores: [], method: 'log-likelihood', scoredTokens: [], inputTokens: 0 }
  let failed = 0
  const onFailed = (index: number) => {
    failed = longestFirst[index]?.[0] ?? 0
  }
  try {
    const { choices, usage } = await foldEvents(generate({ ...deps, onFailed }, [first, ...rest], context))
    const logprobs: number[][] = []
    for (const [at, [index]] of longestFirst.entries()) logprobs[index] = logprobsOf(choices[at] as Choice)
    return {
      scores: logprobs.map((values) => values.reduce((sum, value) => sum + value, 0)),
      method: 'log-likelihood',
      scoredTokens: logprobs.map(({ length }) => length),
      inputTokens: usage.inputTokens,
    }
  } catch (error) {
    throw nameText(error, failed)
  }
}

/** A request that reads the prompt and generates nothing. */
function scoreRequest(text: string, model: string): GenerationRequest {
  return {
    ...plainRequest,
    id: `score-${randomUUID()}`,
    model,
    prompt: { type: 'text', text },
    promptTokens: { logprobs: { top: 0 } },
    maxOutputTokens: 0,
  }
}

function logprobsOf({ promptTokens = [] }: Choice): number[] {
  return promptTokens.flatMap(({ logprob }) => logprob ?? [])
}

/** Rewrites failures about the prompt, or its echo, as failures about the text. */
function nameText(error: unknown, index: number): unknown {
  if (!(error instanceof AppError)) return error
  const { code, overflow, at: place } = error
  const at = ['texts', index] as const
  if (code === 'unsupported-field' && place?.[0] === 'promptTokens') {
    const message = 'the engine of this model does not score texts; choose a model of the embedded engine'
    return new AppError('invalid-request', message, { at: ['model'], cause: error })
  }
  if (overflow !== undefined) {
    const { inputTokens, contextLength } = overflow
    const about = overflow.estimated === true ? 'about ' : ''
    const message = `the maximum context length for one text is ${contextLength} tokens, but ${field(...at)} has ${about}${inputTokens}; shorten or split it`
    return new AppError(code, message, { at, overflow, cause: error })
  }
  if (place?.[0] === 'model' || code !== 'invalid-request') return error
  return new AppError(code, `${field(...at)}: ${error.template}`, { at, cause: error })
}
