import { describe, expect, test } from 'vitest'
import { type FieldTableCase, testFieldTable } from '../../../test/support/field-table-suite.ts'
import { spellings } from '../wire/field-table.ts'
import { decodeChat } from './decode-chat.ts'
import { ollamaDialects } from './dialects.ts'
import { chatFields, generateFields, optionFields } from './fields.ts'
import { chatSchema, generateSchema } from './schema.ts'

/** The properties of the npm client's types of these requests, 0.6.4. */
const common = ['model', 'stream', 'format', 'keep_alive', 'think', 'logprobs', 'top_logprobs', 'options']
const hi = { role: 'user', content: 'hi' }

const commonSamples = {
  model: 'another',
  stream: false,
  format: { type: 'object' },
  think: true,
  options: { top_k: 3 },
  keep_alive: '5m',
  logprobs: true,
  top_logprobs: 2,
  truncate: true,
  shift: true,
  cancel_id: 'run-1',
  session_id: 'session-1',
}
const companions = { top_logprobs: { logprobs: true } }

const cases: readonly (readonly [name: string, tested: FieldTableCase])[] = [
  [
    'chat',
    {
      dialect: ollamaDialects.chat,
      fields: chatFields,
      base: { model: 'm', messages: [hi] },
      properties: ['messages', 'tools', ...common],
      schemaKeys: Object.keys(chatSchema.shape),
      samples: {
        ...commonSamples,
        messages: [{ ...hi, content: 'bye' }],
        tools: [{ type: 'function', function: { name: 'f' } }],
        _debug_render_only: true,
      },
      companions,
      required: ['model', 'messages'],
    },
  ],
  [
    'generate',
    {
      dialect: ollamaDialects.generate,
      fields: generateFields,
      base: { model: 'm', prompt: 'hi' },
      properties: ['prompt', 'suffix', 'system', 'template', 'context', 'raw', 'images', ...common],
      schemaKeys: Object.keys(generateSchema.shape),
      samples: {
        ...commonSamples,
        prompt: 'bye',
        system: 'be brief',
        images: ['AAAA'],
        raw: true,
        suffix: 'end',
        template: '{{ .Prompt }}',
        context: [1],
      },
      companions,
      required: ['model', 'prompt'],
    },
  ],
]

for (const [name, tested] of cases) describe(name, () => testFieldTable(tested))

describe('options', () => {
  const decode = (options: object) => {
    const { request, ignored } = decodeChat({ model: 'm', messages: [hi], options }, 'x')
    return { request, ignored }
  }
  const rows = optionFields.flatMap((field) => spellings(field).map((name) => ({ name, field })))

  test('have every name of the npm client, and none twice', () => {
    const names = rows.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    const known = [
      ...['numa', 'num_ctx', 'num_batch', 'num_gpu', 'main_gpu', 'low_vram', 'f16_kv', 'logits_all', 'vocab_only', 'use_mmap'],
      ...['use_mlock', 'num_thread', 'num_keep', 'seed', 'num_predict', 'top_k', 'top_p', 'tfs_z', 'typical_p', 'repeat_last_n'],
      ...['temperature', 'repeat_penalty', 'presence_penalty', 'frequency_penalty', 'mirostat', 'mirostat_tau', 'mirostat_eta'],
      ...['penalize_newline', 'stop', 'min_p'],
    ]
    expect(known.filter((name) => !names.includes(name))).toEqual([])
  })

  test.each(rows.filter(({ field }) => field.treatment === 'informational'))('$name changes nothing', ({ name }) => {
    expect(decode({ [name]: 5 })).toEqual(decode({}))
  })

  test.each(rows.filter(({ field }) => field.treatment === 'refused'))('$name is refused unless it is off', ({ name, field }) => {
    expect(() => decode({ [name]: 0.123 })).toThrow(expect.objectContaining({ param: `options.${name}` }))
    for (const value of field.treatment === 'refused' ? (field.accepts ?? []) : []) {
      expect(decode({ [name]: value })).toEqual(decode({}))
    }
  })

  test.each([
    ['temperature', 0.3],
    ['top_k', 7],
    ['top_p', 0.4],
    ['min_p', 0.2],
    ['seed', 42],
    ['stop', ['END']],
    ['repeat_penalty', 1.3],
    ['repeat_last_n', 32],
    ['presence_penalty', 1],
    ['frequency_penalty', 1],
    ['num_predict', 9],
  ])('%s is used', (name, value) => {
    expect(JSON.stringify(decode({ [name]: value }).request)).not.toBe(JSON.stringify(decode({}).request))
  })

  test('that are refused are named in one error, with those beside them', () => {
    const body = { model: 'm', messages: [hi], _debug_render_only: true, options: { epsilon_cutoff: 0.5, penalty_alpha: 0.5 } }
    expect(() => decodeChat(body, 'x')).toThrow(/_debug_render_only.*options\.epsilon_cutoff.*options\.penalty_alpha/)
  })
})
