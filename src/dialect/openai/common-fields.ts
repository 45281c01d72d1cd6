import { type Field, informational, refused, used } from '../wire/field-table.ts'
import { pickSpelling } from './spelling.ts'

const scaleSpellings = ['cfg_scale', 'guidance_scale'] as const
type Guided = { readonly [Name in (typeof scaleSpellings)[number]]?: number | null }
/** The names of the reasoning limit. */
export const budgetSpellings = [
  'reasoning_budget_tokens',
  'reasoning_budget',
  'thinking_budget',
  'thinking_token_budget',
  'thinking_budget_tokens',
] as const
/** The names of the text that closes reasoning at its limit. */
export const budgetMessageSpellings = ['reasoning_budget_message', 'thinking_budget_message'] as const
const onlyEmbedded = 'only the embedded engine'

/** How some fields are used. */
export const passedOn = 'passed on to servers of kind `openai` and `dragoman`'

export const promptTemplateField: Field = used(
  'prompt_template',
  'a name from `GET /v1/templates`: the chat template of this request alone, for keys with the scope `admin` ([templates](reference/templates.md#a-template-for-one-request))',
)

export const promptCacheFields: readonly Field[] = [
  used(
    'prompt_cache_key',
    `${passedOn}; prompts that begin differently go to one replica with the same key; equal prefixes are reused without it`,
  ),
  informational('prompt_cache_options', 'equal prefixes are reused without it'),
  used('prompt_cache_retention', `${passedOn}; here, equal prefixes are reused without it`),
]

/** Rows of OpenAI's reference that its generating protocols share. */
export const sharedOpenaiFields = {
  model: used(
    'model',
    'an id or an alias; absent: the model that an operator loaded last, while it is loaded, else the one called `default`, else the first',
  ),
  frequencyPenalty: used('frequency_penalty', '-2 to 2'),
  logitBias: used(
    'logit_bias',
    "token id to a value from -100 to 100, or false, which is -100; or llama-server's list of `[token id, value]`",
  ),
  n: used('n', '1 to 128 choices; the prompt is read once'),
  presencePenalty: used('presence_penalty', '-2 to 2'),
  seed: used('seed', 'any integer, taken modulo 2^32; -1: random; 2^32-1 counts as 2^32-2', {
    aliases: ['sampler_seed', 'random_seed'],
  }),
  stop: used(
    'stop',
    'a string or up to 1,024 strings; the output ends before the first stop sequence in the answer; those in reasoning do not count',
    { aliases: ['stop_sequence', 'stopping_strings'] },
  ),
  stream: used('stream', 'server-sent events'),
  streamOptions: used(
    'stream_options',
    '`include_usage`, which complete replies have in any case; `include_obfuscation: true` is refused',
  ),
  reasoningBudgetMessage: used('reasoning_budget_message', 'text that thinking ends with when its budget ends it', {
    aliases: ['thinking_budget_message'],
    ignores: (value, body) => value !== '' && !hasBudget(body),
  }),
  temperature: used('temperature', '0 to 10; 0 is greedy; servers of others may allow less', { aliases: ['temp'] }),
  topP: used('top_p', '0 to 1'),
  user: used('user', "identifies the client's end user; passed on to servers of kind `openai` and `dragoman`"),
} as const satisfies Record<string, Field>

/** Constraints on the output; two different ones in one request are refused. */
export const constraintFields: readonly Field[] = [
  used(
    'response_format',
    '`text`, `json_object`, `json_schema` (schema or its JSON as a string); also `json`, `regex` (`pattern`), `grammar` (GBNF), `structural_tag` (`structures` or `tags`, and `triggers`)',
  ),
  used('json_schema', 'an object, or its JSON as a string', { aliases: ['guided_json'] }),
  used('regex_pattern', 'the complete output matches it', { aliases: ['regex', 'guided_regex'] }),
  used('grammar_string', 'GBNF, Lark, or KBNF', { aliases: ['grammar', 'guided_grammar'] }),
  used('guided_choice', 'the output is one of these strings'),
  used(
    'structured_outputs',
    'one of `json`, `json_object`, `regex`, `grammar`, `choice`, `structural_tag` (an object as in `response_format`, or its JSON)',
  ),
]

/** Fields inside the objects of both protocols that need a note, by their paths. */
export const nestedConstraintFields: readonly Field[] = [
  used(
    'response_format.json_schema.description',
    'passed on to an upstream that takes JSON Schema; not used where a grammar constrains the output',
  ),
  refused('messages[].images', 'send a part of type `image_url`', { accepts: [[]] }),
]

/** Sampling fields of other servers that Dragoman supports. */
export const samplingExtensions: readonly Field[] = [
  used('adaptive_decay', '0 to 0.99; default 0.9'),
  used(
    'adaptive_target',
    'tokens near this probability are preferred; below 0, and 1: off; only the embedded engine and llama-server',
  ),
  used(
    'allowed_tokens',
    'token ids, or a string of them with commas: no others are chosen, nor an end of the turn that is not one of them; an empty list allows all; only the embedded engine and vLLM',
    { aliases: ['allowed_token_ids'] },
  ),
  used(
    'banned_strings',
    `a string or up to 1,024 strings that the output does not have, in letters of either case: what begins one is taken back before it is sent; ${onlyEmbedded}`,
  ),
  used('banned_tokens', 'token ids, or a string of them with commas: `logit_bias` -100 for each', {
    aliases: ['custom_token_bans'],
  }),
  used(
    'cfg_scale',
    `0 to 100: above 1 the output moves away from what follows \`negative_prompt\`; default 1 (off); ${onlyEmbedded}`,
    { aliases: ['guidance_scale'] },
  ),
  used('do_sample', 'false is greedy; it contradicts a temperature above 0'),
  used('dry_multiplier', 'at least 0; default 0 (off)'),
  used('dry_base', 'at least 1, where DRY is on; default 1.75'),
  used('dry_allowed_length', 'at least 0; default 2'),
  used('dry_range', 'the recent tokens to search; default -1, the whole context', { aliases: ['dry_penalty_last_n'] }),
  used(
    'dry_sequence_breakers',
    'strings, or their JSON as a string, also without brackets; default newline, colon, double quote, asterisk',
  ),
  used('dynamic_temperature', 'false switches `min_temp` and `max_temp` off'),
  used(
    'dynatemp_range',
    'the temperature is up to so much lower where one token is probable, and up to so much higher where many are; default 0 (off); only the embedded engine and llama-server',
  ),
  used('ignore_eos', 'the model cannot end its turn', { aliases: ['ban_eos_token'] }),
  used(
    'loop_detect_window',
    'the output ends with `stop` when its last tokens, so many, are one pattern twice or more; default 0; 0 and 1 are off; up to 10,000; other engines than the embedded one name it as ignored',
  ),
  used('max_temp', 'with `min_temp`, the bounds of a dynamic temperature, in place of `temperature`; default 1', {
    aliases: ['dynatemp_high', 'dynatemp_max'],
  }),
  used('min_p', '0 to 1'),
  used('min_temp', 'at most `max_temp`; default 1', { aliases: ['dynatemp_low', 'dynatemp_min'] }),
  used('mirostat_eta', '0 to 1; default 0.1'),
  used(
    'mirostat_mode',
    '1 or 2: mirostat of this version, instead of the samplers that remove tokens; default 0 (off); `mirostat: true` is 1, unless this is 2; only the embedded engine and llama-server',
    { aliases: ['mirostat'] },
  ),
  used('mirostat_tau', 'at least 0; default 5'),
  used('negative_prompt', 'a text, as it is, for `cfg_scale`; without one, an empty prompt', {
    ignores: (value, body) => value !== '' && (pickSpelling(body as Guided, scaleSpellings) ?? 1) === 1,
  }),
  used(
    'penalty_range',
    'the recent tokens that `repetition_penalty` counts; -1: the whole context; the other penalties count the whole output',
    { aliases: ['repetition_range', 'repetition_penalty_range', 'rep_pen_range', 'repeat_last_n'] },
  ),
  used('repetition_penalty', 'above 0; 1 is off; counts prompt and output', { aliases: ['rep_pen', 'repeat_penalty'] }),
  used(
    'repetition_decay',
    `over so many tokens before \`penalty_range\`, \`repetition_penalty\` fades; default 0; ${onlyEmbedded}`,
  ),
  used(
    'samplers',
    "the order of samplers: a list of names, of llama-server's letters or of KoboldCpp's numbers, or a text of them; `samplers` also switches off those that it lacks. Servers that keep an order of their own refuse another one of those that are on",
    { aliases: ['sampler_order', 'sampler_priority'] },
  ),
  used(
    'skew',
    `-10 to 10; above 0 less probable tokens are drawn more often, below 0 less often; default 0 (off); ${onlyEmbedded}`,
  ),
  used('smoothing_curve', 'at least 1, where smoothing is on; default 1'),
  used('smoothing_factor', `0 to 100: quadratic sampling, after the temperature; default 0 (off); ${onlyEmbedded}`),
  used(
    'stop_token_ids',
    'token ids, or a string of them with commas, that end the output and are not in it; also in `stop`; only the embedded engine, vLLM and SGLang',
  ),
  used(
    'temperature_last',
    'whether temperature comes after `top_k`, `top_p` and `min_p`; the embedded engine does either, by default true; llama-server refuses false; vLLM and SGLang refuse true; others refuse both',
  ),
  used('temp_exponent', 'how a dynamic temperature follows the entropy; default 1', { aliases: ['dynatemp_exponent'] }),
  used('tfs', `0 to 1: tail-free sampling; 0 and 1, the default, are off; ${onlyEmbedded}`, { aliases: ['tfs_z'] }),
  used(
    'token_healing',
    `true: the last token of the prompt is chosen anew, among those that begin with its text, unless it is a control token; not with a constraint or tools; ${onlyEmbedded}`,
  ),
  used(
    'top_a',
    `0 to 1: tokens below this share of the highest probability squared are removed; default 0 (off); ${onlyEmbedded}`,
  ),
  used('top_k', 'at least -1; 0 and -1 keep every token'),
  used('top_n_sigma', 'at least -1; 0 and below: off; only the embedded engine and llama-server', { aliases: ['nsigma'] }),
  used('typical', '0 to 1; default 1 (off); only the embedded engine and llama-server', { aliases: ['typical_p', 'typ_p'] }),
  used('xtc_probability', '0 to 1; default 0 (off)'),
  used('xtc_threshold', '0 to 1; default 0.1'),
]

/** The minimum of output tokens: a field of requests, not of presets. */
export const minimumField: Field = used(
  'min_tokens',
  'at most the limit; the model cannot end its turn before, but a stop sequence or a constraint can; an engine may refuse it',
  { aliases: ['min_length', 'min_new_tokens'] },
)

/** As with tabbyAPI, whose template decides in conversations. */
export const templateBosField: Field = used(
  'add_bos_token',
  'the chat template decides, as with true; false is named as ignored',
  {
    ignores: (value) => value === false,
  },
)

/** llama.cpp's name for `logprobs`, for protocols with another form of it. */
export const refusedProbs: Field = refused('n_probs', 'use `logprobs`', { accepts: [0] })

/** vLLM's log-probabilities of the prompt. */
export const promptLogprobsField: Field = used(
  'prompt_logprobs',
  '0 to 20 top log-probabilities per token of the prompt, in a whole reply; of conversations, on the embedded engine only',
)

/** The same field, for protocols whose replies have no place for it. */
export const refusedPromptLogprobs: Field = refused('prompt_logprobs', 'only completions and chat completions have it')

/** Unsloth's fields for one image and one sound, which chat completions have. */
export const refusedMedia: readonly Field[] = [
  refused('audio_base64', 'only chat completions read it', { accepts: [''] }),
  refused('image_base64', 'only chat completions read it', { accepts: [''] }),
]

/** Unsloth's choice of a LoRA adapter. */
export const adapterField: Field = used(
  'use_adapter',
  'LoRA adapters of the model: `false` none, `true` those that are loaded, a name that one alone; refused where the engine cannot',
)

/** Fields of other servers that would change the output: refused rather than silently ignored. */
export const refusedExtensions: readonly Field[] = [
  refused('audio_data', 'send a part of type `input_audio`', { accepts: ['', []] }),
  refused('bad_words_ids', 'use `banned_tokens`', { aliases: ['bad_words_list'], accepts: [[]] }),
  refused('auto_heal_tool_calls', 'calls are read wherever the model writes them', { accepts: [true] }),
  refused('best_of', 'choices are not ranked: use `n` and select one', { accepts: [1] }),
  refused('context_overflow', 'a conversation is never shortened', { accepts: ['error', ''] }),
  used('debug_config', 'read where `server.debug` is on, for keys with the scope `admin`; left out elsewhere', {
    ignores: (value) => !hasOnlyDefaults(value),
  }),
  refused('early_stopping', 'no beam search', { accepts: [false] }),
  refused('ebnf', 'use `grammar`, which is GBNF', { accepts: [''] }),
  refused(
    'enable_tools',
    'only chat completions and Messages read it; Responses declare `web_search`, `code_interpreter` or `mcp` in `tools`',
    { accepts: [false] },
  ),
  refused('enabled_tools', 'only chat completions and Messages read it', { accepts: [[]] }),
  refused('encoder_repetition_penalty', 'not available', { accepts: [1] }),
  refused('epsilon_cutoff', 'not available', { aliases: ['eta_cutoff'], accepts: [0] }),
  refused('format', 'use `response_format`', { accepts: [''] }),
  refused('image_data', 'send a part of type `image_url`', { aliases: ['images'], accepts: ['', []] }),
  refused('input_ids', 'send token ids as the `prompt` of `POST /v1/completions`', { accepts: [[]] }),
  refused('include_stop_str_in_output', 'stop sequences are never in the output', { accepts: [false] }),
  refused('length_penalty', 'no beam search', { accepts: [1] }),
  refused('logits_processors', 'not available', { accepts: [[]] }),
  refused('max_time', 'use `max_tokens`', { accepts: [0] }),
  informational('max_tool_calls_per_message', 'a limit of tools that the server runs, which chat completions have'),
  refused('min_keep', 'not available', { accepts: [0, 1] }),
  refused('no_stop_trim', 'stop sequences are never in the output', { accepts: [false] }),
  refused('no_repeat_ngram_size', 'use DRY: `dry_multiplier`', { accepts: [0] }),
  refused('num_beams', 'no beam search', { accepts: [1] }),
  informational('num_ctx', "the context length is the model's; a prompt that does not fit is refused, never shortened"),
  refused('options', 'send its fields beside `model`', { accepts: [{}] }),
  refused('penalty_alpha', 'no contrastive search', { accepts: [0] }),
  refused('raw', 'use `POST /v1/completions` for a prompt without template', { accepts: [false] }),
  refused('return_tokens_as_token_ids', 'tokens have their texts', { accepts: [false] }),
  refused('separate_reasoning', 'reasoning is never a part of the text', { accepts: [true] }),
  used('t_max_predict_ms', 'editors always send it: above 0 it is named as ignored; use `max_tokens`', {
    ignores: (value) => typeof value === 'number' && value > 0,
  }),
  informational('stream_reasoning', 'reasoning is streamed as text is'),
  refused('system', 'send a message of the system', { accepts: [''] }),
  refused('template', "the model's own template is used", { accepts: [''] }),
  refused('think', 'use `thinking`'),
  informational('tool_call_timeout', 'a limit of tools that the server runs, which chat completions have'),
  refused('truncate_prompt_tokens', 'a prompt is never truncated'),
  refused('lora', 'use `use_adapter`', { aliases: ['lora_path', 'lora_name'], accepts: ['', []] }),
  refused('use_beam_search', 'no beam search', { accepts: [false] }),
  refused('watermark', 'no watermark', { accepts: [false] }),
]

/** Whether a body limits its reasoning in any of the fields for that. */
function hasBudget(body: object): boolean {
  const { reasoning, thinking, ...flat } = body as Readonly<
    Record<string, { max_tokens?: unknown; budget_tokens?: unknown } | null>
  >
  const limits = [...budgetSpellings.map((name) => flat[name]), reasoning?.max_tokens, thinking?.budget_tokens]
  return limits.some((limit) => typeof limit === 'number' && limit >= 0)
}

/** Whether an MLC-LLM `debug_config` contains only defaults; both of its modes check each token against a grammar. */
function hasOnlyDefaults(config: unknown): boolean {
  if (typeof config !== 'object' || config === null) return false
  return Object.entries(config).every(([key, value]) => key === 'grammar_execution_mode' || value === null || value === false)
}
