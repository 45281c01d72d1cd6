import type { CanonicalPath } from '../../contract/field.ts'
import { type FieldNames, formatRest } from '../wire/field-names.ts'
import { serverFieldNames } from './server-fields.ts'
import { spellingsOf } from './spelling.ts'

/** The names of the canonical paths that OpenAI's generating protocols share. */
export const commonNames = {
  model: ['model'],
  'sampling.temperature': [...spellingsOf.temperature, 'do_sample'],
  'sampling.topP': ['top_p'],
  'sampling.topK': ['top_k'],
  'sampling.minP': ['min_p'],
  'sampling.seed': spellingsOf.seed,
  'sampling.repetitionPenalty': spellingsOf.repetitionPenalty,
  'sampling.repetitionRange': spellingsOf.repetitionRange,
  'sampling.presencePenalty': ['presence_penalty'],
  'sampling.frequencyPenalty': ['frequency_penalty'],
  'sampling.logitBias': ['logit_bias', ...spellingsOf.bans],
  'sampling.temperatureLast': ['temperature_last'],
  'sampling.xtc.probability': ['xtc_probability'],
  'sampling.xtc.threshold': ['xtc_threshold'],
  'sampling.dry.multiplier': ['dry_multiplier'],
  'sampling.dry.base': ['dry_base'],
  'sampling.dry.allowedLength': ['dry_allowed_length'],
  'sampling.dry.range': spellingsOf.dryRange,
  'sampling.dry.sequenceBreakers': ['dry_sequence_breakers'],
  'sampling.typicalP': spellingsOf.typical,
  'sampling.topNSigma': spellingsOf.sigma,
  'sampling.dynamicTemperature.range': ['dynatemp_range', ...spellingsOf.highest],
  'sampling.dynamicTemperature.exponent': spellingsOf.exponent,
  'sampling.mirostat.version': ['mirostat_mode', 'mirostat'],
  'sampling.mirostat.tau': ['mirostat_tau'],
  'sampling.mirostat.eta': ['mirostat_eta'],
  'sampling.adaptiveP.target': ['adaptive_target'],
  'sampling.adaptiveP.decay': ['adaptive_decay'],
  'sampling.topA': ['top_a'],
  'sampling.tailFree': spellingsOf.tailFree,
  'sampling.smoothing.factor': ['smoothing_factor'],
  'sampling.smoothing.curve': ['smoothing_curve'],
  'sampling.skew': ['skew'],
  'sampling.repetitionDecay': ['repetition_decay'],
  'sampling.samplerOrder': spellingsOf.order,
  'sampling.stopTokens': ['stop_token_ids', ...spellingsOf.stop],
  'sampling.bannedStrings': ['banned_strings'],
  'sampling.loopWindow': ['loop_detect_window'],
  'sampling.healsTokens': ['token_healing'],
  'sampling.guidance.scale': spellingsOf.guidance,
  'sampling.guidance.negativePrompt': ['negative_prompt'],
  'sampling.allowedTokens': spellingsOf.allowed,
  choices: ['n'],
  maxOutputTokens: spellingsOf.limit,
  minOutputTokens: spellingsOf.minimum,
  showsSpecialTokens: ['skip_special_tokens'],
  stop: spellingsOf.stop,
  ignoreEos: spellingsOf.ignoreEos,
  adapter: ['use_adapter'],
  logprobs: ['logprobs', 'n_probs'],
  'logprobs.top': ['top_logprobs', 'logprobs', 'n_probs'],
  promptTokens: ['echo', 'prompt_logprobs'],
  ...serverFieldNames,
} as const satisfies FieldNames

/** The caller's name of a place of `output`, which comes from one field: a schema, a pattern or a grammar is that field's value. */
export function nameOutput(outputField: string, [, value, ...rest]: CanonicalPath): string {
  const isValue = value === undefined || value === 'schema' || value === 'pattern' || value === 'grammar'
  return outputField + formatRest(isValue ? rest : [value, ...rest])
}
