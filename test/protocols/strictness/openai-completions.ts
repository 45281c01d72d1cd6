import type { StrictnessTable } from './row.ts'

/** How text completions are read. */
export const completionStrictness: StrictnessTable = {
  title: 'OpenAI completions',
  base: { model: 'm', prompt: 'hi' },
  rows: [
    {
      what: 'an empty prompt',
      sample: { prompt: '' },
      outcome: 'tolerated',
      becomes: { prompt: { type: 'text', text: '' } },
      note: 'the model begins anywhere',
    },
    { what: 'an empty list of prompts', sample: { prompt: [] }, outcome: 'refused', param: 'prompt', note: '' },
    { what: 'a list of texts and token ids', sample: { prompt: ['hi', 5] }, outcome: 'refused', param: 'prompt[1]', note: '' },
    {
      what: 'token ids',
      sample: { prompt: [1, 2] },
      outcome: 'tolerated',
      becomes: { prompt: { type: 'tokens', tokens: [1, 2] } },
      note: '',
    },
    { what: 'no prompt', sample: { prompt: null }, outcome: 'refused', param: 'prompt', note: '' },
    {
      what: 'an empty suffix',
      sample: { suffix: '' },
      outcome: 'healed',
      becomes: { prompt: { type: 'text', text: 'hi' } },
      note: 'the same as none',
    },
    { what: 'a suffix after token ids', sample: { prompt: [1, 2], suffix: 'x' }, outcome: 'refused', param: 'suffix', note: '' },
    {
      what: '`max_tokens` 0 without `echo`',
      sample: { max_tokens: 0 },
      outcome: 'refused',
      param: 'max_tokens',
      note: 'the reply would be empty',
    },
    {
      what: 'a stop sequence without characters',
      sample: { stop: '' },
      outcome: 'healed',
      becomes: { stop: [] },
      note: 'left out: it would end every reply at once',
    },
    {
      what: 'null for an optional field',
      sample: { stop: null, suffix: null, logprobs: null },
      outcome: 'tolerated',
      becomes: { stop: [] },
      note: 'the same as leaving it out',
    },
    { what: 'an unknown field', sample: { mood: 'good' }, outcome: 'tolerated', ignored: ['mood'], note: '' },
    {
      what: '`stream_options` without `stream`',
      sample: { stream_options: { include_usage: true } },
      outcome: 'tolerated',
      note: 'a complete reply has its usage in any case',
    },
  ],
}
