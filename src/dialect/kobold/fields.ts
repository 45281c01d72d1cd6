import { completionFields } from '../openai-completions/fields.ts'
import type { Field } from '../wire/field-table.ts'

const wordsOfGames = ['use_story', 'use_memory', 'use_authors_note', 'use_world_info', 'gui_settings', 'quiet']

/** Fields of `POST /api/v1/generate` that completions lack, or treat otherwise. */
export const ownFields: readonly Field[] = [
  { name: 'max_length', treatment: 'used', note: 'the limit on the output; default 100' },
  { name: 'memory', treatment: 'used', note: 'a text in front of the prompt' },
  { name: 'singleline', treatment: 'used', note: 'true: a line break ends the output' },
  { name: 'use_default_badwordsids', treatment: 'used', note: 'true: the model cannot end its turn, as `ignore_eos`' },
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
  { name: 'grammar_retain_state', treatment: 'refused', accepts: [false], note: 'a grammar begins anew with each output' },
  ...wordsOfGames.map((name): Field => ({ name, treatment: 'informational', note: 'of games that KoboldAI keeps itself' })),
]

const own = new Set(ownFields.map(({ name }) => name))
const absent = new Set(['model', 'stream', 'stream_options', 'echo', 'suffix', 'max_tokens', 'cancel_id'])

/** Every field of `POST /api/v1/generate`. */
export const koboldFields: readonly Field[] = [
  ...ownFields,
  ...completionFields.filter(({ name }) => !own.has(name) && !absent.has(name)),
]
