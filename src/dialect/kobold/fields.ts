import { refusedPromptLogprobs } from '../openai/common-fields.ts'
import { pickSpelling } from '../openai/spelling.ts'
import { completionFields } from '../openai-completions/fields.ts'
import { type Field, givesWay, informational, refused, used } from '../wire/field-table.ts'

const wordsOfGames = ['use_story', 'use_memory', 'use_authors_note', 'use_world_info', 'gui_settings', 'quiet']

const penaltySpellings = ['rep_pen', 'repetition_penalty', 'repeat_penalty'] as const
type Penalized = { readonly [Name in (typeof penaltySpellings)[number]]?: number | null }

/** Fields of `POST /api/v1/generate` that completions lack or treat differently. */
export const ownFields: readonly Field[] = [
  used('memory', 'a text in front of the prompt'),
  used('singleline', 'true: a line break ends the output'),
  used('use_default_badwordsids', 'true: the model cannot end its turn, as `ignore_eos`'),
  used('banned_tokens', 'strings: as `banned_strings`; token ids, or a string of them with commas: `logit_bias` -100 for each', {
    aliases: ['custom_token_bans'],
  }),
  used(
    'replace_instruct_placeholders',
    'true: in the prompt, the memory and stop sequences, `{{[INPUT]}}`, `{{[OUTPUT]}}` and their `_END` forms become what the chat ' +
      "template writes around turns, or KoboldCpp's texts for a model without a template; `{{[SYSTEM]}}` is refused",
  ),
  informational(
    'max_context_length',
    "the context length is the model's; a prompt that does not fit is refused, never shortened",
  ),
  used('rep_pen_slope', 'penalties have no slope: beside a `rep_pen` that is on, others than 0 and 1 are named as ignored', {
    ignores: (value, body) => value !== 0 && value !== 1 && (pickSpelling(body as Penalized, penaltySpellings) ?? 1) !== 1,
  }),
  refused('trim_stop', 'stop sequences are never in the output', { accepts: [true] }),
  refused('bypass_eos', 'use `use_default_badwordsids`', { accepts: [false] }),
  used('render_special', 'true: the text has special tokens, as `skip_special_tokens: false`'),
  used('logprobs', 'true, or a number up to 20: kept for `POST /api/extra/last_logprobs`; true is 5', { aliases: ['n_probs'] }),
  refusedPromptLogprobs,
  refused('grammar_retain_state', 'a grammar begins anew with each output', { accepts: [false] }),
  ...wordsOfGames.map((name): Field => informational(name, 'of games that KoboldAI keeps itself')),
]

/** The route decides whether to stream, and a reply contains only its text. */
export const absentFields = ['stream', 'stream_options', 'timings_per_token', 'return_progress', 'echo', 'suffix']
const otherwise = ['max_tokens', 'logprobs', 'n_probs', 'prompt_logprobs', 'banned_tokens']

/** Every field of `POST /api/v1/generate`. */
export const koboldFields: readonly Field[] = [
  used('max_length', `the limit on the output; default 100; ${givesWay}`, {
    aliases: ['max_tokens', 'max_completion_tokens', 'max_new_tokens', 'max_output_tokens', 'n_predict', 'num_predict'],
  }),
  ...ownFields,
  ...completionFields.filter(({ name }) => !absentFields.includes(name) && !otherwise.includes(name)),
]
