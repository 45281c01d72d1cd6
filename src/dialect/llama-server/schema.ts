import { z } from 'zod'
import { commonShape } from '../openai/common-schema.ts'
import { textServerShape } from '../openai/server-fields.ts'
import { runningShape } from '../openai/times/running-fields.ts'
import { list, looseObject } from '../wire/first-fault.ts'
import { anyNumber, flag, integerBetween, text, tokenIdList, unlimitedOr } from '../wire/wire-types.ts'

const maxPrompts = 2048
const tooMany = { count: maxPrompts, error: `at most ${maxPrompts} prompts` }
const tokenIds = tokenIdList().min(1, { error: 'at least one token' })
const noMedia = { error: 'an empty array: send pictures to /v1/chat/completions' }
/** A text in the form of llama-server's routes with media. */
const withMedia = looseObject({
  prompt_string: z.string(),
  multimodal_data: z.array(z.unknown(), noMedia).max(0, noMedia).nullish(),
})
const prompt = z.union([
  z.string(),
  tokenIds,
  withMedia,
  list(z.union([z.string(), tokenIds, withMedia]), { error: 'a string, token ids, or an array of these', max: tooMany }).min(1),
])
export type WirePrompt = string | readonly number[] | z.infer<typeof withMedia>
/** 0: reads the prompt, generates nothing. */
const limit = unlimitedOr(0)
const probs = integerBetween(0, 20).nullish()

const { stream_options: _, ...shared } = commonShape
const sharedShape = {
  ...shared,
  ...textServerShape,
  ...runningShape,
  skip_special_tokens: flag,
  n_predict: limit,
  max_tokens: limit,
  max_completion_tokens: limit,
  max_length: limit,
  max_new_tokens: limit,
  max_output_tokens: limit,
  num_predict: limit,
  n_probs: probs,
  logprobs: probs,
  cache_prompt: flag,
  id_slot: anyNumber,
  n_keep: anyNumber,
  n_discard: anyNumber,
  n_cache_reuse: anyNumber,
  t_max_prompt_ms: anyNumber,
  sse_ping_interval: anyNumber,
  response_fields: list(z.string(), { error: 'an array of names of fields' }).nullish(),
}

/** The body of `POST /completion`. */
export const completionSchema = looseObject({ ...sharedShape, prompt })

const extra = looseObject({ filename: text, text: z.string(), time: z.unknown().optional() })

/** The body of `POST /infill`. */
export const infillSchema = looseObject({
  ...sharedShape,
  input_prefix: z.string(),
  input_suffix: z.string(),
  input_extra: list(extra, { error: 'an array of texts', max: tooMany }).nullish(),
  prompt: text,
})

export type CompletionWire = z.output<typeof completionSchema>
export type InfillWire = z.output<typeof infillSchema>
