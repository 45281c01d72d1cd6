import { z } from 'zod'
import { commonShape } from '../openai/common-schema.ts'
import { flag, integerBetween, integerFrom, text } from '../openai/wire-types.ts'
import { list } from '../wire/first-fault.ts'

const maxPrompts = 2048
const maxLogprobs = 5
/** 0: the reply echoes the prompt and generates nothing. */
const maxTokens = integerFrom(0)
const tokenId = z.int({ error: 'a token id' }).min(0, { error: 'a token id' }).max(0x7fffffff, { error: 'a token id' })
const tokenIds = list(tokenId, { error: 'an array of token ids' }).min(1, { error: 'at least one token' })
const tooMany = { error: `at most ${maxPrompts} prompts` }

const prompt = z.union([
  z.string(),
  list(z.string(), { error: 'an array of strings' }).min(1, { error: 'at least one prompt' }).max(maxPrompts, tooMany),
  tokenIds,
  list(tokenIds, { error: 'an array of arrays of token ids' }).min(1).max(maxPrompts, tooMany),
])

/** The body of a text completion request. Refused fields are not in it. */
export const completionRequestSchema = z.looseObject({
  ...commonShape,
  prompt,
  echo: flag,
  suffix: text,
  max_tokens: maxTokens,
  max_completion_tokens: maxTokens,
  max_length: maxTokens,
  logprobs: integerBetween(0, maxLogprobs).nullish(),
})

/** A request body with valid types and ranges; decoding finds contradictions. */
export type CompletionWire = z.output<typeof completionRequestSchema>
