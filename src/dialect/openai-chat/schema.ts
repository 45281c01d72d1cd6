import { z } from 'zod'

/** Numbers carry their whole range in the message: "at most 2" alone makes the caller guess the rest. */
function numberBetween(min: number, max: number) {
  const error = `a number from ${min} to ${max}`
  return z.number({ error }).min(min, { error }).max(max, { error })
}

function between(min: number, max: number) {
  return numberBetween(min, max).nullish()
}

function atLeast(min: number) {
  const error = `a number of at least ${min}`
  return z.number({ error }).min(min, { error }).nullish()
}

function integerFrom(min: number) {
  const error = `an integer of at least ${min}`
  return z.int({ error }).min(min, { error }).nullish()
}

function above(min: number) {
  const error = `a number above ${min}`
  return z.number({ error }).gt(min, { error }).nullish()
}

const anyNumber = z.number().nullish()
const flag = z.boolean().nullish()
const optionalText = z.string().nullish()
const nonEmptyText = z.string().min(1)

/** Each kind of object inside a body: its keys are what `check-nested.ts` knows there. */
export const textPart = z.looseObject({ type: z.literal('text'), text: z.string() })
export const refusalPart = z.looseObject({ type: z.literal('refusal'), refusal: z.string() })
export const imageUrl = z.looseObject({ url: z.string(), detail: z.enum(['auto', 'low', 'high']).nullish() })
export const imagePart = z.looseObject({ type: z.literal('image_url'), image_url: imageUrl })
export const inputAudio = z.looseObject({ data: z.string(), format: z.enum(['wav', 'mp3']) })
export const audioPart = z.looseObject({ type: z.literal('input_audio'), input_audio: inputAudio })
export const filePart = z.looseObject({ type: z.literal('file') })

/** One part of a message, as it arrives; every role may hold every kind, and the engine refuses what it cannot read. */
export type WirePart = z.output<typeof wirePart>
const wirePart = z.discriminatedUnion('type', [textPart, refusalPart, imagePart, audioPart, filePart])

const content = z.union([z.string(), z.array(wirePart, { error: 'an array of content parts' })])

/** OpenAI says text; some clients and servers pass the object that the text stands for. */
const callArguments = z.union([z.string(), z.record(z.string(), z.unknown())])

export const functionCall = z.looseObject({ name: z.string(), arguments: callArguments })
export const toolCall = z.looseObject({ id: z.string(), type: z.string().nullish(), function: functionCall.nullish() })

export const promptMessage = z.looseObject({ role: z.enum(['system', 'developer', 'user']), content, name: optionalText })
export const assistantMessage = z.looseObject({
  role: z.literal('assistant'),
  content: content.nullish(),
  name: optionalText,
  refusal: optionalText,
  reasoning_content: optionalText,
  reasoning: optionalText,
  tool_calls: z.array(toolCall).nullish(),
  function_call: functionCall.nullish(),
  audio: z.unknown().optional(),
})
export const toolMessage = z.looseObject({ role: z.literal('tool'), content, tool_call_id: z.string(), name: optionalText })
export const functionMessage = z.looseObject({ role: z.literal('function'), content: content.nullable(), name: z.string() })

const wireMessage = z.discriminatedUnion('role', [promptMessage, assistantMessage, toolMessage, functionMessage])

/** One turn, as it arrives. */
export type WireMessage = z.output<typeof wireMessage>

export const streamOptions = z.looseObject({ include_usage: flag, include_obfuscation: flag })

const maxTokens = integerFrom(1)
const maxStops = 16
const stop = z
  .union([
    nonEmptyText,
    z
      .array(nonEmptyText, { error: 'an array of non-empty strings' })
      .max(maxStops, { error: `an array of at most ${maxStops} strings` }),
  ])
  .nullish()

/**
 * The body of a chat completion request. Every spelling of a field is its own key, so that an error names the one that was
 * sent. Refused fields are left to the field table: whatever their type, they are refused.
 */
export const chatRequestSchema = z.looseObject({
  model: nonEmptyText,
  messages: z.array(wireMessage, { error: 'an array of messages' }).min(1, { error: 'at least one message' }),

  temperature: between(0, 2),
  do_sample: flag,
  top_p: between(0, 1),
  top_k: integerFrom(-1),
  min_p: between(0, 1),
  // Clients send 64-bit seeds too; those that a JSON number cannot hold exactly arrive rounded.
  seed: z.number({ error: 'an integer' }).refine(Number.isInteger, { error: 'an integer' }).nullish(),
  repetition_penalty: above(0),
  rep_pen: above(0),
  repeat_penalty: above(0),
  presence_penalty: between(-2, 2),
  frequency_penalty: between(-2, 2),
  logit_bias: z
    .record(z.string().regex(/^(0|[1-9]\d{0,8})$/, { error: 'token ids as keys' }), numberBetween(-100, 100))
    .nullish(),
  xtc_probability: between(0, 1),
  xtc_threshold: between(0, 1),
  dry_multiplier: atLeast(0),
  // llama.cpp takes a base below 1 as an order to switch DRY off.
  dry_base: atLeast(1),
  dry_allowed_length: integerFrom(0),
  dry_range: integerFrom(-1),
  dry_penalty_last_n: integerFrom(-1),
  dry_sequence_breakers: z.union([z.array(nonEmptyText, { error: 'an array of non-empty strings' }), nonEmptyText]).nullish(),

  max_completion_tokens: maxTokens,
  max_tokens: maxTokens,
  max_length: maxTokens,
  stop,
  stop_sequence: stop,
  ignore_eos: flag,
  ban_eos_token: flag,

  stream: flag,
  stream_options: streamOptions.nullish(),

  metadata: z.record(z.string(), z.string()).nullish(),
  prompt_cache_key: optionalText,
  prompt_cache_options: z.looseObject({}).nullish(),
  prompt_cache_retention: optionalText,
  safety_identifier: optionalText,
  service_tier: optionalText,
  user: optionalText,
  adaptive_decay: anyNumber,
  mirostat_eta: anyNumber,
  mirostat_tau: anyNumber,
  temp_exponent: anyNumber,
  dynatemp_exponent: anyNumber,
})

/** A request body whose types and ranges are right; what contradicts itself is found while decoding. */
export type WireRequest = z.output<typeof chatRequestSchema>
