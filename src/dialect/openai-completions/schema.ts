import { z } from 'zod'
import { commonShape } from '../openai/common-schema.ts'
import { textServerShape } from '../openai/server-fields.ts'
import { runningShape } from '../openai/times/running-fields.ts'
import { list, looseObject } from '../wire/first-fault.ts'
import { flag, integerBetween, text, tokenIdList, unlimitedOr } from '../wire/wire-types.ts'

const maxPrompts = 2048
/** OpenAI's limit is 5; clients of local servers ask for 10. */
const maxLogprobs = 20
/** 0: the reply echoes the prompt and generates nothing. */
const maxTokens = unlimitedOr(0)
const logprobCount = integerBetween(0, maxLogprobs)
const tokenIds = tokenIdList().min(1, { error: 'at least one token' })
const tooMany = { count: maxPrompts, error: `at most ${maxPrompts} prompts` }

const prompt = z.union([
  z.string(),
  list(z.string(), { error: 'an array of strings', max: tooMany }).min(1, { error: 'at least one prompt' }),
  tokenIds,
  list(tokenIds, { error: 'an array of arrays of token ids', max: tooMany }).min(1),
])

/** The body of a text completion request. Refused fields are missing. */
export const completionRequestSchema = looseObject({
  ...commonShape,
  ...textServerShape,
  ...runningShape,
  prompt,
  echo: flag,
  suffix: text,
  skip_special_tokens: flag,
  max_tokens: maxTokens,
  max_completion_tokens: maxTokens,
  max_length: maxTokens,
  max_new_tokens: maxTokens,
  n_predict: maxTokens,
  max_output_tokens: maxTokens,
  num_predict: maxTokens,
  logprobs: z.union([z.boolean(), logprobCount]).nullish(),
  n_probs: logprobCount.nullish(),
  prompt_logprobs: logprobCount.nullish(),
})

/** A request body with valid types and ranges; decoding finds contradictions. */
export type CompletionWire = z.output<typeof completionRequestSchema>
