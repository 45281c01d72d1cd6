import type { StrictnessTable } from './row.ts'

/** How embedding requests are read. */
export const embeddingStrictness: StrictnessTable = {
  title: 'OpenAI embeddings',
  base: { model: 'm', input: 'hi' },
  rows: [
    { what: 'an empty text', sample: { input: '' }, outcome: 'refused', param: 'input', note: 'as OpenAI does' },
    { what: 'an empty text in a list', sample: { input: ['hi', ''] }, outcome: 'refused', param: 'input[1]', note: '' },
    { what: 'an empty list', sample: { input: [] }, outcome: 'refused', param: 'input', note: '' },
    {
      what: 'a list of texts and single token ids',
      sample: { input: ['hi', 5] },
      outcome: 'refused',
      param: 'input[1]',
      note: '',
    },
    {
      what: 'a list of texts and arrays of token ids',
      sample: { input: ['hi', [5]] },
      outcome: 'tolerated',
      becomes: {
        inputs: [
          { type: 'text', text: 'hi' },
          { type: 'tokens', tokens: [5] },
        ],
      },
      note: '',
    },
    {
      what: 'token ids',
      sample: { input: [1, 2] },
      outcome: 'tolerated',
      becomes: { inputs: [{ type: 'tokens', tokens: [1, 2] }] },
      note: 'one input',
    },
    {
      what: 'an unknown `encoding_format`',
      sample: { encoding_format: 'int8' },
      outcome: 'refused',
      param: 'encoding_format',
      note: '',
    },
    {
      what: 'null for an optional field',
      sample: { dimensions: null, encoding_format: null },
      outcome: 'tolerated',
      note: 'the same as leaving it out',
    },
    { what: 'an unknown field', sample: { mood: 'good' }, outcome: 'tolerated', ignored: ['mood'], note: '' },
  ],
}
