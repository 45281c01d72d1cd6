import { z } from 'zod'
import { cancelShape } from '../wire/cancel-keys.ts'
import { dictionary, list, looseObject, openObject } from '../wire/first-fault.ts'
import { jsonSchema } from '../wire/json-schema.ts'
import {
  above,
  absentIfEmpty,
  anyNumber,
  atLeast,
  between,
  flag,
  integerBetween,
  integerFrom,
  nonEmptyText,
  numberBetween,
  stopList,
  text,
  unlimitedOr,
} from '../wire/wire-types.ts'
import { serverShape } from './server-fields.ts'
import { spelled, spellingsOf } from './spelling.ts'

const maxTokens = unlimitedOr(1)
/** Five times OpenAI's limit, which people who write with models exceed. */
const maxTemperature = 10
const maxSamplers = { count: 64, error: 'at most 64 samplers' }
/** A list names each sampler once. A text has llama.cpp's letters, or names with separators. */
const samplerList = z
  .union([
    list(z.union([z.string(), z.int()]), { error: 'an array of names of samplers, or their letters', max: maxSamplers }),
    z.string().max(1000, { error: 'at most 1000 characters' }),
  ])
  .nullish()
/** OpenAI's limit. The engine decides how many it runs together. */
const maxChoices = 128

// Clients send 64-bit seeds too; those that a JSON number cannot hold exactly arrive rounded.
const seed = z.number({ error: 'an integer' }).refine(Number.isInteger, { error: 'an integer' }).nullish()

const tokenId = z.int({ error: 'a token id' }).min(0, { error: 'a token id' }).max(999_999_999, { error: 'a token id' })
/** Empty ones are left out. tabbyAPI's clients mix token ids with strings. */
const stop = z.union([z.string(), stopList(z.union([z.string(), tokenId]), 'an array of strings, or token ids')]).nullish()
/** Each costs time for every generated token. */
const maxBiases = 40_000
const tooManyBiases = { count: maxBiases, error: `at most ${maxBiases} token ids` }
const bias = z.union([numberBetween(-100, 100), z.literal(false)], { error: 'a number from -100 to 100, or false' })
const biases = dictionary(z.string().regex(/^(0|[1-9]\d{0,8})$/, { error: 'token ids as keys' }), bias, {
  max: tooManyBiases,
})
/** llama.cpp's form. */
const biasList = list(z.tuple([tokenId, bias], { error: 'a token id, and a number from -100 to 100 or false' }), {
  error: 'an array of token ids with their bias',
  max: tooManyBiases,
})
const logitBias = z.union([biases, biasList]).nullish()
/** Nine digits, a comma and a space for each. */
const maxTokenListChars = 11 * maxBiases
/** tabbyAPI's clients send a comma-separated string. */
const tokenList = z
  .union([
    list(tokenId, { error: 'an array of token ids', max: tooManyBiases }),
    z
      .string()
      .max(maxTokenListChars, { error: tooManyBiases.error, abort: true })
      .refine(isTokenList, { error: 'token ids with commas' }),
  ])
  .nullish()

/** Numbers between commas, which may be empty. One regular expression for the whole text would overflow its stack. */
function isTokenList(text: string): boolean {
  return text.split(',').every((item) => /^\d{0,9}$/.test(item.trim()))
}

/** The size of a regular expression, a grammar or a schema as text: far beyond what engines compile. */
const maxConstraintChars = 1024 * 1024
const constraintText = z.string().max(maxConstraintChars, { error: `at most ${maxConstraintChars} characters`, abort: true })
const nonEmptyConstraint = constraintText.min(1)
const schemaOrText = z.union([jsonSchema, constraintText, z.boolean()], { error: 'a JSON Schema, or its JSON as a string' })
const maxTexts = 10_000
const tooManyTexts = { count: maxTexts, error: `at most ${maxTexts} strings` }
const textList = list(nonEmptyText, { error: 'an array of non-empty strings', max: tooManyTexts })
const choiceList = textList
  .min(1, { error: 'at least one string' })
  .refine((choices) => choices.reduce((sum, { length }) => sum + length, 0) <= maxConstraintChars, {
    error: `strings of at most ${maxConstraintChars} characters together`,
  })

const jsonSchemaFormat = looseObject(
  { name: text, description: text, schema: schemaOrText.nullish(), strict: flag },
  // Without a wrapper the object is a JSON Schema, whose keywords the grammar checks.
  { reports: ({ schema }) => (schema ?? undefined) !== undefined },
)

/** Each letter of a trigger is a rule of the grammar. */
const tagText = z.string().max(256, { error: 'at most 256 characters' })
const structures = list(looseObject({ begin: tagText.min(1), schema: schemaOrText, end: tagText }), {
  error: 'an array of structures',
  max: { count: 256, error: 'at most 256 structures' },
})
const triggers = list(tagText.min(1), { error: 'an array of strings', max: { count: 64, error: 'at most 64 triggers' } })

/** OpenAI's three types, and the names and additions of other servers. */
const responseFormats = {
  text: looseObject({ type: z.literal('text') }),
  json_object: looseObject({ type: z.literal('json_object'), schema: schemaOrText.nullish() }),
  json: looseObject({ type: z.literal('json'), schema: schemaOrText.nullish() }),
  json_schema: looseObject({ type: z.literal('json_schema'), json_schema: jsonSchemaFormat }),
  regex: looseObject({ type: z.literal('regex'), pattern: nonEmptyConstraint }),
  grammar: looseObject({ type: z.literal('grammar'), grammar: nonEmptyConstraint }),
  structural_tag: looseObject({
    type: z.literal('structural_tag'),
    structures: structures.nullish(),
    tags: structures.nullish(),
    triggers,
  }),
}
const { text: textFormat, json_object, json, json_schema, regex, grammar, structural_tag } = responseFormats
const responseFormat = absentIfEmpty(
  z.discriminatedUnion('type', [textFormat, json_object, json, json_schema, regex, grammar, structural_tag]),
)

/** The tags of `structured_outputs` that arrived as a text of JSON, at their place. */
export const taggedOutputs = looseObject({ structured_outputs: looseObject({ structural_tag }) })

/** vLLM's object of constraints. */
const structuredOutputsObject = looseObject({
  json: schemaOrText.nullish(),
  json_object: flag,
  regex: nonEmptyConstraint.nullish(),
  grammar: nonEmptyConstraint.nullish(),
  choice: choiceList.nullish(),
  /** vLLM accepts its JSON as text. */
  structural_tag: z.union([constraintText, structural_tag]).nullish(),
})

const streamOptionsObject = looseObject({ include_usage: flag, include_obfuscation: flag })

/** What decides how tokens are chosen. Every spelling of a field is a separate key, so that an error names the spelling in the request. */
export const samplingShape = {
  ...spelled(spellingsOf.temperature, between(0, maxTemperature)),
  do_sample: flag,
  top_p: between(0, 1),
  top_k: integerFrom(-1),
  min_p: between(0, 1),
  ...spelled(spellingsOf.seed, seed),
  ...spelled(spellingsOf.repetitionPenalty, above(0)),
  ...spelled(spellingsOf.repetitionRange, integerFrom(-1)),
  presence_penalty: between(-2, 2),
  frequency_penalty: between(-2, 2),
  logit_bias: logitBias,
  ...spelled(spellingsOf.bans, tokenList),
  ...spelled(spellingsOf.typical, between(0, 1)),
  ...spelled(spellingsOf.sigma, atLeast(-1)),
  dynamic_temperature: flag,
  dynatemp_range: between(0, maxTemperature),
  ...spelled(spellingsOf.lowest, between(0, maxTemperature)),
  ...spelled(spellingsOf.highest, between(0, maxTemperature)),
  ...spelled(spellingsOf.exponent, atLeast(0)),
  mirostat: z.union([integerBetween(0, 2), z.boolean()], { error: '0, 1, 2, true or false' }).nullish(),
  mirostat_mode: integerBetween(0, 2).nullish(),
  mirostat_tau: atLeast(0),
  mirostat_eta: between(0, 1),
  adaptive_target: between(-1, 1),
  adaptive_decay: between(0, 0.99),
  top_a: between(0, 1),
  ...spelled(spellingsOf.tailFree, between(0, 1)),
  smoothing_factor: between(0, 100),
  smoothing_curve: atLeast(0),
  skew: between(-10, 10),
  repetition_decay: integerFrom(0),
  ...spelled(spellingsOf.allowed, tokenList),
  xtc_probability: between(0, 1),
  xtc_threshold: between(0, 1),
  temperature_last: flag,
  ...spelled(spellingsOf.order, samplerList),
  dry_multiplier: atLeast(0),
  dry_base: atLeast(0),
  dry_allowed_length: integerFrom(0),
  ...spelled(spellingsOf.dryRange, integerFrom(-1)),
  dry_sequence_breakers: z.union([textList, constraintText]).nullish(),
  ...spelled(spellingsOf.stop, stop),
  stop_token_ids: tokenList,
  banned_strings: z.union([z.string(), stopList(z.string(), 'an array of strings')]).nullish(),
  loop_detect_window: integerBetween(0, 10_000).nullish(),
  token_healing: flag,
  ...spelled(spellingsOf.guidance, between(0, 100)),
  negative_prompt: text,
}

/** The fields that OpenAI's generating protocols share. */
export const commonShape = {
  model: nonEmptyText,
  ...samplingShape,

  n: integerBetween(1, maxChoices).nullish(),
  ...spelled(spellingsOf.minimum, integerFrom(0)),
  ...spelled(spellingsOf.limit, maxTokens),
  ...spelled(spellingsOf.ignoreEos, flag),
  use_adapter: z.union([z.boolean(), z.string()], { error: 'true, false or the name of an adapter' }).nullish(),

  response_format: responseFormat,
  json_schema: schemaOrText.nullish(),
  guided_json: schemaOrText.nullish(),
  regex_pattern: constraintText.nullish(),
  regex: constraintText.nullish(),
  guided_regex: constraintText.nullish(),
  grammar_string: constraintText.nullish(),
  grammar: constraintText.nullish(),
  guided_grammar: constraintText.nullish(),
  guided_choice: choiceList.nullish(),
  structured_outputs: structuredOutputsObject.nullish(),

  stream: flag,
  stream_options: streamOptionsObject.nullish(),

  user: text,
  ...cancelShape,
  ...serverShape,
  stream_reasoning: flag,
  max_tool_calls_per_message: anyNumber,
  tool_call_timeout: anyNumber,
  num_ctx: anyNumber,
  t_max_predict_ms: anyNumber,
  debug_config: openObject({}).nullish(),
}

/** The fields that the bodies of both protocols share; decoding finds contradictions between them. */
export type CommonWire = z.output<z.ZodObject<typeof commonShape>>
