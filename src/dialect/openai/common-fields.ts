import type { Field } from '../wire/field-table.ts'
import { pickSpelling } from './spelling.ts'

const scaleSpellings = ['cfg_scale', 'guidance_scale'] as const
type Guided = { readonly [Name in (typeof scaleSpellings)[number]]?: number | null }
const onlyEmbedded = 'only the embedded engine'

/** Rows of OpenAI's reference that its generating protocols share. */
export const sharedOpenaiFields = {
  model: {
    name: 'model',
    treatment: 'used',
    note: 'an id or an alias; absent: the model that an operator loaded last, while it is loaded, else the one called `default`, else the first',
  },
  frequencyPenalty: { name: 'frequency_penalty', treatment: 'used', note: '-2 to 2' },
  logitBias: { name: 'logit_bias', treatment: 'used', note: 'token id to a value from -100 to 100' },
  n: { name: 'n', treatment: 'used', note: '1 to 128 choices; the prompt is read once' },
  presencePenalty: { name: 'presence_penalty', treatment: 'used', note: '-2 to 2' },
  seed: {
    name: 'seed',
    aliases: ['sampler_seed'],
    treatment: 'used',
    note: 'any integer, taken modulo 2^32; -1: random; 2^32-1 counts as 2^32-2',
  },
  stop: {
    name: 'stop',
    aliases: ['stop_sequence', 'stopping_strings'],
    treatment: 'used',
    note: 'a string or up to 1,024 strings; the output ends before the first stop sequence in the answer; those in reasoning do not count',
  },
  stream: { name: 'stream', treatment: 'used', note: 'server-sent events' },
  streamOptions: {
    name: 'stream_options',
    treatment: 'used',
    note: '`include_usage`; only with `stream`; `include_obfuscation: true` is refused',
  },
  temperature: {
    name: 'temperature',
    aliases: ['temp'],
    treatment: 'used',
    note: '0 to 10; 0 is greedy; servers of others may allow less',
  },
  topP: { name: 'top_p', treatment: 'used', note: '0 to 1' },
  user: {
    name: 'user',
    treatment: 'used',
    note: "identifies the client's end user; passed on to servers of kind `openai` and `dragoman`",
  },
} as const satisfies Record<string, Field>

/** Constraints on the output; two different ones in one request are refused. */
export const constraintFields: readonly Field[] = [
  {
    name: 'response_format',
    treatment: 'used',
    note: '`text`, `json_object`, `json_schema` (schema or its JSON as a string); also `json`, `regex` (`pattern`), `grammar` (GBNF)',
  },
  { name: 'json_schema', aliases: ['guided_json'], treatment: 'used', note: 'an object, or its JSON as a string' },
  { name: 'regex_pattern', aliases: ['regex', 'guided_regex'], treatment: 'used', note: 'the complete output matches it' },
  { name: 'grammar_string', aliases: ['grammar', 'guided_grammar'], treatment: 'used', note: 'GBNF, or Lark' },
  { name: 'guided_choice', treatment: 'used', note: 'the output is one of these strings' },
  {
    name: 'structured_outputs',
    treatment: 'used',
    note: 'one of `json`, `json_object`, `regex`, `grammar`, `choice`; `structural_tag` is refused',
  },
]

/** Fields inside the objects of both protocols that need a note, by their paths. */
export const nestedConstraintFields: readonly Field[] = [
  {
    name: 'response_format.json_schema.description',
    treatment: 'used',
    note: 'passed on to an upstream that takes JSON Schema; not used where a grammar constrains the output',
  },
  { name: 'messages[].images', treatment: 'refused', accepts: [[]], note: 'send a part of type `image_url`' },
  { name: 'structured_outputs.structural_tag', treatment: 'refused', note: 'use `tools`' },
]

/** Sampling fields of other servers that Dragoman supports. */
export const samplingExtensions: readonly Field[] = [
  { name: 'adaptive_decay', treatment: 'used', note: '0 to 0.99; default 0.9' },
  {
    name: 'adaptive_target',
    treatment: 'used',
    note: 'tokens near this probability are preferred; below 0, and 1: off; only the embedded engine and llama-server',
  },
  {
    name: 'allowed_tokens',
    aliases: ['allowed_token_ids'],
    treatment: 'used',
    note: 'token ids, or a string of them with commas: no others are chosen, nor an end of the turn that is not one of them; an empty list allows all; only the embedded engine and vLLM',
  },
  {
    name: 'banned_strings',
    treatment: 'used',
    note: `a string or up to 1,024 strings that the output does not have, in letters of either case: what begins one is taken back before it is sent; ${onlyEmbedded}`,
  },
  {
    name: 'banned_tokens',
    aliases: ['custom_token_bans'],
    treatment: 'used',
    note: 'token ids, or a string of them with commas: `logit_bias` -100 for each',
  },
  {
    name: 'cfg_scale',
    aliases: ['guidance_scale'],
    treatment: 'used',
    note: `0 to 100: above 1 the output moves away from what follows \`negative_prompt\`; default 1 (off); ${onlyEmbedded}`,
  },
  { name: 'do_sample', treatment: 'used', note: 'false is greedy; it contradicts a temperature above 0' },
  { name: 'dry_multiplier', treatment: 'used', note: 'at least 0; default 0 (off)' },
  { name: 'dry_base', treatment: 'used', note: 'at least 1, where DRY is on; default 1.75' },
  { name: 'dry_allowed_length', treatment: 'used', note: 'at least 0; default 2' },
  {
    name: 'dry_range',
    aliases: ['dry_penalty_last_n'],
    treatment: 'used',
    note: 'the recent tokens to search; default -1, the whole context',
  },
  {
    name: 'dry_sequence_breakers',
    treatment: 'used',
    note: 'strings, or their JSON as a string; default newline, colon, double quote, asterisk',
  },
  { name: 'dynamic_temperature', treatment: 'used', note: 'false switches `min_temp` and `max_temp` off' },
  {
    name: 'dynatemp_range',
    treatment: 'used',
    note: 'the temperature is up to so much lower where one token is probable, and up to so much higher where many are; default 0 (off); only the embedded engine and llama-server',
  },
  { name: 'ignore_eos', aliases: ['ban_eos_token'], treatment: 'used', note: 'the model cannot end its turn' },
  {
    name: 'loop_detect_window',
    treatment: 'used',
    note: 'the output ends with `stop` when its last tokens, so many, are one pattern twice or more; default 0; 0 and 1 are off; up to 10,000; other engines than the embedded one name it as ignored',
  },
  {
    name: 'max_temp',
    aliases: ['dynatemp_high', 'dynatemp_max'],
    treatment: 'used',
    note: 'with `min_temp`, the bounds of a dynamic temperature, in place of `temperature`; default 1',
  },
  { name: 'min_p', treatment: 'used', note: '0 to 1' },
  { name: 'min_temp', aliases: ['dynatemp_low', 'dynatemp_min'], treatment: 'used', note: 'at most `max_temp`; default 1' },
  { name: 'mirostat_eta', treatment: 'used', note: '0 to 1; default 0.1' },
  {
    name: 'mirostat_mode',
    aliases: ['mirostat'],
    treatment: 'used',
    note: '1 or 2: mirostat of this version, instead of the samplers that remove tokens; default 0 (off); only the embedded engine and llama-server',
  },
  { name: 'mirostat_tau', treatment: 'used', note: 'at least 0; default 5' },
  {
    name: 'negative_prompt',
    treatment: 'used',
    ignores: (value, body) => value !== '' && (pickSpelling(body as Guided, scaleSpellings) ?? 1) === 1,
    note: 'a text, as it is, for `cfg_scale`; without one, an empty prompt',
  },
  {
    name: 'penalty_range',
    aliases: ['repetition_range', 'repetition_penalty_range', 'rep_pen_range', 'repeat_last_n'],
    treatment: 'used',
    note: 'the recent tokens that `repetition_penalty` counts; -1: the whole context; the other penalties count the whole output',
  },
  {
    name: 'repetition_penalty',
    aliases: ['rep_pen', 'repeat_penalty'],
    treatment: 'used',
    note: 'above 0; 1 is off; counts prompt and output',
  },
  {
    name: 'repetition_decay',
    treatment: 'used',
    note: `over so many tokens before \`penalty_range\`, \`repetition_penalty\` fades; default 0; ${onlyEmbedded}`,
  },
  {
    name: 'samplers',
    aliases: ['sampler_order', 'sampler_priority'],
    treatment: 'used',
    note: 'the order of samplers, by name or by the number that KoboldCpp has for it; `samplers` also switches off those that it lacks. Servers that keep an order of their own refuse another one of those that are on',
  },
  {
    name: 'skew',
    treatment: 'used',
    note: `-10 to 10; above 0 less probable tokens are drawn more often, below 0 less often; default 0 (off); ${onlyEmbedded}`,
  },
  {
    name: 'smoothing_curve',
    treatment: 'used',
    note: 'at least 1, where smoothing is on; default 1',
  },
  {
    name: 'smoothing_factor',
    treatment: 'used',
    note: `0 to 100: quadratic sampling, after the temperature; default 0 (off); ${onlyEmbedded}`,
  },
  {
    name: 'stop_token_ids',
    treatment: 'used',
    note: 'token ids, or a string of them with commas, that end the output and are not in it; also in `stop`; only the embedded engine, vLLM and SGLang',
  },
  {
    name: 'temperature_last',
    treatment: 'used',
    note: 'whether temperature comes after `top_k`, `top_p` and `min_p`; the embedded engine does either, by default true; llama-server refuses false; vLLM and SGLang refuse true; others refuse both',
  },
  {
    name: 'temp_exponent',
    aliases: ['dynatemp_exponent'],
    treatment: 'used',
    note: 'how a dynamic temperature follows the entropy; default 1',
  },
  {
    name: 'tfs',
    aliases: ['tfs_z'],
    treatment: 'used',
    note: `0 to 1: tail-free sampling; 0 and 1, the default, are off; ${onlyEmbedded}`,
  },
  {
    name: 'token_healing',
    treatment: 'used',
    note: `true: the last token of the prompt is chosen anew, among those that begin with its text, unless it is a control token; not with a constraint or tools; ${onlyEmbedded}`,
  },
  {
    name: 'top_a',
    treatment: 'used',
    note: `0 to 1: tokens below this share of the highest probability squared are removed; default 0 (off); ${onlyEmbedded}`,
  },
  { name: 'top_k', treatment: 'used', note: 'at least -1; 0 and -1 keep every token' },
  {
    name: 'top_n_sigma',
    aliases: ['nsigma'],
    treatment: 'used',
    note: 'at least -1; 0 and below: off; only the embedded engine and llama-server',
  },
  {
    name: 'typical',
    aliases: ['typical_p', 'typ_p'],
    treatment: 'used',
    note: '0 to 1; default 1 (off); only the embedded engine and llama-server',
  },
  { name: 'xtc_probability', treatment: 'used', note: '0 to 1; default 0 (off)' },
  { name: 'xtc_threshold', treatment: 'used', note: '0 to 1; default 0.1' },
]

/** The minimum of output tokens: a field of requests, not of presets. */
export const minimumField: Field = {
  name: 'min_tokens',
  aliases: ['min_length', 'min_new_tokens'],
  treatment: 'used',
  note: 'at most the limit; the model cannot end its turn before, but a stop sequence or a constraint can; an engine may refuse it',
}

/** llama.cpp's name of `logprobs`, in protocols that have another form of it. */
export const refusedProbs: Field = { name: 'n_probs', treatment: 'refused', accepts: [0], note: 'use `logprobs`' }

/** Unsloth's fields for one image and one sound, which chat completions have. */
export const refusedMedia: readonly Field[] = [
  { name: 'audio_base64', treatment: 'refused', accepts: [''], note: 'only chat completions read it' },
  { name: 'image_base64', treatment: 'refused', accepts: [''], note: 'only chat completions read it' },
]

/** Unsloth's choice of a LoRA adapter. */
export const adapterField: Field = {
  name: 'use_adapter',
  treatment: 'used',
  note: 'LoRA adapters of the model: `false` none, `true` those that are loaded, a name that one alone; refused where the engine cannot',
}

/** Fields of other servers that would change the output: refused rather than silently ignored. */
export const refusedExtensions: readonly Field[] = [
  { name: 'audio_data', treatment: 'refused', accepts: ['', []], note: 'send a part of type `input_audio`' },
  {
    name: 'bad_words_ids',
    aliases: ['bad_words_list'],
    treatment: 'refused',
    accepts: [[]],
    note: 'use `banned_tokens`',
  },
  { name: 'auto_heal_tool_calls', treatment: 'refused', accepts: [true], note: 'calls are read wherever the model writes them' },
  { name: 'best_of', treatment: 'refused', accepts: [1], note: 'choices are not ranked: use `n` and select one' },
  { name: 'context_overflow', treatment: 'refused', accepts: ['error', ''], note: 'a conversation is never shortened' },
  {
    name: 'debug_config',
    treatment: 'refused',
    acceptsAlso: { what: 'its defaults', test: (value) => hasOnlyDefaults(value) },
    note: '`server.debug` is off, or the key lacks the scope `admin`',
  },
  { name: 'early_stopping', treatment: 'refused', accepts: [false], note: 'no beam search' },
  { name: 'ebnf', treatment: 'refused', accepts: [''], note: 'use `grammar`, which is GBNF' },
  { name: 'enable_tools', treatment: 'refused', accepts: [false], note: 'no tools of the server; declare functions in `tools`' },
  { name: 'enabled_tools', treatment: 'refused', accepts: [[]], note: 'no tools of the server; declare functions in `tools`' },
  { name: 'encoder_repetition_penalty', treatment: 'refused', accepts: [1], note: 'not available' },
  { name: 'epsilon_cutoff', aliases: ['eta_cutoff'], treatment: 'refused', accepts: [0], note: 'not available' },
  { name: 'format', treatment: 'refused', accepts: [''], note: 'use `response_format`' },
  { name: 'image_data', aliases: ['images'], treatment: 'refused', accepts: ['', []], note: 'send a part of type `image_url`' },
  { name: 'input_ids', treatment: 'refused', accepts: [[]], note: 'send token ids as the `prompt` of `POST /v1/completions`' },
  { name: 'include_stop_str_in_output', treatment: 'refused', accepts: [false], note: 'stop sequences are never in the output' },
  { name: 'length_penalty', treatment: 'refused', accepts: [1], note: 'no beam search' },
  { name: 'logits_processors', treatment: 'refused', accepts: [[]], note: 'not available' },
  { name: 'max_time', treatment: 'refused', accepts: [0], note: 'use `max_tokens`' },
  {
    name: 'max_tool_calls_per_message',
    treatment: 'informational',
    note: 'a limit of tools that the server runs, of which there are none',
  },
  { name: 'min_keep', treatment: 'refused', accepts: [0, 1], note: 'not available' },
  { name: 'no_stop_trim', treatment: 'refused', accepts: [false], note: 'stop sequences are never in the output' },
  { name: 'no_repeat_ngram_size', treatment: 'refused', accepts: [0], note: 'use DRY: `dry_multiplier`' },
  { name: 'num_beams', treatment: 'refused', accepts: [1], note: 'no beam search' },
  {
    name: 'num_ctx',
    treatment: 'informational',
    note: "the context length is the model's; a prompt that does not fit is refused, never shortened",
  },
  { name: 'options', treatment: 'refused', accepts: [{}], note: 'send its fields beside `model`' },
  { name: 'penalty_alpha', treatment: 'refused', accepts: [0], note: 'no contrastive search' },
  { name: 'prompt_logprobs', treatment: 'refused', note: 'use `echo` with `logprobs` in `POST /v1/completions`' },
  { name: 'raw', treatment: 'refused', accepts: [false], note: 'use `POST /v1/completions` for a prompt without template' },
  { name: 'return_tokens_as_token_ids', treatment: 'refused', accepts: [false], note: 'tokens have their texts' },
  { name: 'separate_reasoning', treatment: 'refused', accepts: [true], note: 'reasoning is never a part of the text' },
  { name: 'skip_special_tokens', treatment: 'refused', accepts: [true], note: 'special tokens are never in the output' },
  { name: 't_max_predict_ms', treatment: 'refused', accepts: [0, -1], note: 'use `max_tokens`' },
  { name: 'stream_reasoning', treatment: 'informational', note: 'reasoning is streamed as text is' },
  { name: 'system', treatment: 'refused', accepts: [''], note: 'send a message of the system' },
  { name: 'template', treatment: 'refused', accepts: [''], note: "the model's own template is used" },
  { name: 'think', treatment: 'refused', note: 'use `thinking`' },
  {
    name: 'tool_call_timeout',
    treatment: 'informational',
    note: 'a limit of tools that the server runs, of which there are none',
  },
  { name: 'truncate_prompt_tokens', treatment: 'refused', note: 'a prompt is never truncated' },
  {
    name: 'lora',
    aliases: ['lora_path', 'lora_name'],
    treatment: 'refused',
    accepts: ['', []],
    note: 'use `use_adapter`',
  },
  { name: 'use_beam_search', treatment: 'refused', accepts: [false], note: 'no beam search' },
  { name: 'watermark', treatment: 'refused', accepts: [false], note: 'no watermark' },
]

/** Whether all that an MLC-LLM `debug_config` says is so anyway; each token is checked against a grammar in both of its modes. */
function hasOnlyDefaults(config: unknown): boolean {
  if (typeof config !== 'object' || config === null) return false
  return Object.entries(config).every(([key, value]) => key === 'grammar_execution_mode' || value === null || value === false)
}
