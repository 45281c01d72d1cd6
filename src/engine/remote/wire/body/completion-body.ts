import type { Prompt } from '../../../../contract/request.ts'
import type { CompiledGrammar } from '../../../../grammar/grammar-builder.ts'
import type { AnswerText, SentRequest } from '../../servers/check-upstream.ts'
import type { Profile } from '../../servers/profile.ts'
import type { Upstream } from '../../servers/upstream.ts'
import type { UpstreamBody } from './chat-body.ts'
import { defaultLimit, safeLimit } from './default-limit.ts'
import { constraintField, type OutputFields, outputFields } from './output-fields.ts'
import { budgetFields } from './reasoning-budget.ts'
import { sharedFields, streamOptions, topLogprobs, unsupported } from './sampling-fields.ts'

type PlainPrompt = Exclude<Prompt, { type: 'chat' }>

/**
 * A text, token or infill prompt as a streamed request to `/completions`. Throws `unsupported-field` for features that the server lacks.
 */
export function completionBody(
  request: SentRequest,
  prompt: PlainPrompt,
  upstream: Upstream,
  grammar?: CompiledGrammar,
): UpstreamBody {
  const { profile, model } = upstream
  // If the conversation was rendered here, the server does not see which part of the output is thinking.
  budgetFields(request.reasoning, profile)
  const answer = answerOf(request, profile)
  const { fields, structured } = answer ?? outputFields(request, profile, grammar)
  // The grammar says where the answer ends.
  const sampled = answer?.isOpen === false ? { ...request, ignoreEos: false } : request
  const { max_completion_tokens: limit, ...shared } = { ...defaultLimit(upstream), ...sharedFields(sampled, profile) }
  const { showsTokens } = profile
  if (request.showsSpecialTokens === true && showsTokens === undefined) throw unsupported(profile, ['showsSpecialTokens'])
  const rendered = request.turnEnds === undefined ? {} : turnFields(request.turnEnds, request, upstream)
  return {
    path: '/completions',
    body: {
      model,
      ...promptFields(prompt, profile),
      ...(request.promptTokens === undefined ? { stream: true, stream_options: streamOptions(profile) } : { stream: false }),
      ...rendered,
      ...(request.showsSpecialTokens === true && showsTokens),
      ...shared,
      // Only the old name exists here; without it, OpenAI's limit is 16.
      ...(limit !== undefined && { max_tokens: limit }),
      ...fields,
      ...(request.logprobs !== undefined && { logprobs: topLogprobs(request.logprobs, profile) }),
      ...echoFields(request, profile),
    },
    ...(structured !== undefined && { structured }),
  }
}

/** The fields of the grammar of the whole answer, for a server that takes grammars. */
export function answerOf({ answer }: SentRequest, { gbnf }: Profile): (OutputFields & Pick<AnswerText, 'isOpen'>) | undefined {
  if (answer === undefined || gbnf === undefined) return undefined
  const { grammar, structured, isOpen } = answer
  return { fields: constraintField(gbnf, grammar), isOpen, ...(structured !== undefined && { structured }) }
}

/**
 * Returns the prompt before the output, with its log-probabilities. Only a reply that is not streamed tells how many of the tokens are the
 * prompt's.
 */
function echoFields({ promptTokens, logprobs }: SentRequest, profile: Profile): Record<string, unknown> {
  if (promptTokens === undefined) return {}
  if (profile.scoresPrompts !== true) throw unsupported(profile, ['promptTokens'])
  const top = Math.max(promptTokens.logprobs?.top ?? 0, logprobs?.top ?? 0)
  return { echo: true, logprobs: topLogprobs({ top }, profile) }
}

/** The fields of a rendered conversation besides its prompt. The usual limit of completions is 16 tokens. */
function turnFields(
  turnEnds: readonly string[],
  { specialTexts = [] }: SentRequest,
  upstream: Upstream,
): Record<string, unknown> {
  const { showsTokens, keepsTokens } = upstream.profile
  return {
    max_tokens: safeLimit(upstream),
    ...(turnEnds.length > 0 && { stop: turnEnds }),
    ...showsTokens,
    ...(keepsTokens !== undefined && specialTexts.length > 0 && { [keepsTokens]: specialTexts }),
  }
}

function promptFields(prompt: PlainPrompt, profile: Profile): Record<string, unknown> {
  switch (prompt.type) {
    case 'text':
      return { prompt: prompt.text }
    case 'tokens':
      return { prompt: prompt.tokens }
    case 'infill':
      if (!profile.suffix) throw unsupported(profile, ['prompt', 'suffix'])
      return { prompt: prompt.prefix, suffix: prompt.suffix }
  }
}
