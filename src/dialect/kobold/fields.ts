import { completionFields } from '../openai-completions/fields.ts'
import { type Field, givesWay } from '../wire/field-table.ts'

const wordsOfGames = ['use_story', 'use_memory', 'use_authors_note', 'use_world_info', 'gui_settings', 'quiet']

/** Fields of `POST /api/v1/generate` that completions lack, or treat otherwise. */
export const ownFields: readonly Field[] = [
  { name: 'memory', treatment: 'used', note: 'a text in front of the prompt' },
  { name: 'singleline', treatment: 'used', note: 'true: a line break ends the output' },
  { name: 'use_default_badwordsids', treatment: 'used', note: 'true: the model cannot end its turn, as `ignore_eos`' },
  {
    name: 'banned_tokens',
    aliases: ['custom_token_bans'],
    treatment: 'used',
    note: 'strings: as `banned_strings`; token ids, or a string of them with commas: `logit_bias` -100 for each',
  },
  { name: 'genkey', treatment: 'used', note: 'the name of this request for `POST /api/extra/abort`' },
  {
    name: 'max_context_length',
    treatment: 'informational',
    note: "the context length is the model's; a prompt that does not fit is refused, never shortened",
  },
  { name: 'rep_pen_slope', treatment: 'refused', accepts: [0, 1], note: 'penalties have no slope' },
  { name: 'trim_stop', treatment: 'refused', accepts: [true], note: 'stop sequences are never in the output' },
  { name: 'bypass_eos', treatment: 'refused', accepts: [false], note: 'use `use_default_badwordsids`' },
  { name: 'render_special', treatment: 'refused', accepts: [false], note: 'special tokens are never in the output' },
  { name: 'logprobs', aliases: ['n_probs'], treatment: 'refused', accepts: [0, false], note: 'use `POST /v1/completions`' },
  { name: 'grammar_retain_state', treatment: 'refused', accepts: [false], note: 'a grammar begins anew with each output' },
  ...wordsOfGames.map((name): Field => ({ name, treatment: 'informational', note: 'of games that KoboldAI keeps itself' })),
]

/** The routes say whether they stream, and a reply has its text alone. */
export const absentFields = ['stream', 'stream_options', 'timings_per_token', 'return_progress', 'echo', 'suffix']
const otherwise = ['max_tokens', 'logprobs', 'n_probs', 'banned_tokens']

/** Every field of `POST /api/v1/generate`. */
export const koboldFields: readonly Field[] = [
  {
    name: 'max_length',
    aliases: ['max_tokens', 'max_completion_tokens', 'max_new_tokens', 'max_output_tokens', 'n_predict', 'num_predict'],
    treatment: 'used',
    note: `the limit on the output; default 100; ${givesWay}`,
  },
  ...ownFields,
  ...completionFields.filter(({ name }) => !absentFields.includes(name) && !otherwise.includes(name)),
]
