import type { CanonicalPath } from '../../contract/field.ts'
import { type FieldNames, formatRest } from '../wire/field-names.ts'
import { outputLimits, outputMinima } from './decode-common.ts'
import { repetitionRanges } from './decode-sampling.ts'
import { orderSpellings } from './sampler-order.ts'
import { serverFieldNames } from './server-fields.ts'
import { stopSpellings } from './spelling.ts'

/** The names of the canonical paths that OpenAI's generating protocols share. */
export const commonNames = {
  model: ['model'],
  'sampling.temperature': ['temperature', 'temp', 'do_sample'],
  'sampling.topP': ['top_p'],
  'sampling.topK': ['top_k'],
  'sampling.minP': ['min_p'],
  'sampling.seed': ['seed', 'sampler_seed'],
  'sampling.repetitionPenalty': ['repetition_penalty', 'rep_pen', 'repeat_penalty'],
  'sampling.repetitionRange': repetitionRanges,
  'sampling.presencePenalty': ['presence_penalty'],
  'sampling.frequencyPenalty': ['frequency_penalty'],
  'sampling.logitBias': ['logit_bias', 'banned_tokens', 'custom_token_bans'],
  'sampling.temperatureLast': ['temperature_last'],
  'sampling.xtc.probability': ['xtc_probability'],
  'sampling.xtc.threshold': ['xtc_threshold'],
  'sampling.dry.multiplier': ['dry_multiplier'],
  'sampling.dry.base': ['dry_base'],
  'sampling.dry.allowedLength': ['dry_allowed_length'],
  'sampling.dry.range': ['dry_range', 'dry_penalty_last_n'],
  'sampling.dry.sequenceBreakers': ['dry_sequence_breakers'],
  'sampling.typicalP': ['typical', 'typical_p', 'typ_p'],
  'sampling.topNSigma': ['top_n_sigma', 'nsigma'],
  'sampling.dynamicTemperature.range': ['dynatemp_range', 'max_temp', 'dynatemp_high', 'dynatemp_max'],
  'sampling.dynamicTemperature.exponent': ['temp_exponent', 'dynatemp_exponent'],
  'sampling.mirostat.version': ['mirostat_mode', 'mirostat'],
  'sampling.mirostat.tau': ['mirostat_tau'],
  'sampling.mirostat.eta': ['mirostat_eta'],
  'sampling.adaptiveP.target': ['adaptive_target'],
  'sampling.adaptiveP.decay': ['adaptive_decay'],
  'sampling.topA': ['top_a'],
  'sampling.tailFree': ['tfs', 'tfs_z'],
  'sampling.smoothing.factor': ['smoothing_factor'],
  'sampling.smoothing.curve': ['smoothing_curve'],
  'sampling.skew': ['skew'],
  'sampling.repetitionDecay': ['repetition_decay'],
  'sampling.samplerOrder': orderSpellings,
  'sampling.stopTokens': ['stop_token_ids', ...stopSpellings],
  'sampling.bannedStrings': ['banned_strings'],
  'sampling.loopWindow': ['loop_detect_window'],
  'sampling.healsTokens': ['token_healing'],
  'sampling.guidance.scale': ['cfg_scale', 'guidance_scale'],
  'sampling.guidance.negativePrompt': ['negative_prompt'],
  'sampling.allowedTokens': ['allowed_tokens', 'allowed_token_ids'],
  choices: ['n'],
  maxOutputTokens: outputLimits,
  minOutputTokens: outputMinima,
  showsSpecialTokens: ['skip_special_tokens'],
  stop: stopSpellings,
  ignoreEos: ['ignore_eos', 'ban_eos_token'],
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
