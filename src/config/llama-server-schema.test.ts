import { describe, expect, test } from 'vitest'
import { llamaServerModel } from './llama-server-schema.ts'
import { refuseArgument } from './reserved-arguments.ts'

const minimal = { engine: 'llama-server', id: 'm', source: '/m.gguf' }
const problems = (more: object) => {
  const { error } = llamaServerModel.safeParse({ ...minimal, ...more })
  return (error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`)
}

test('a source is all that it needs', () => {
  expect(llamaServerModel.parse(minimal)).toMatchObject({
    binary: 'llama-server',
    source: [{ type: 'path', path: '/m.gguf' }],
    contextLength: 8192,
    slots: 4,
    flashAttention: 'auto',
    args: [],
  })
})

test.each(['f32', 'f16', 'bf16', 'q8_0', 'q4_0', 'q4_1', 'iq4_nl', 'q5_0', 'q5_1'])('caches may be %s', (type) => {
  expect(problems({ cacheTypeK: type, cacheTypeV: type })).toEqual([])
})

test('other caches are refused', () => {
  expect(problems({ cacheTypeK: 'q3' })).toHaveLength(1)
})

test('quantized values without flash attention are refused', () => {
  expect(problems({ cacheTypeV: 'q8_0', flashAttention: false })).toEqual([
    expect.stringMatching(/^cacheTypeV: q8_0 needs flash/),
  ])
  expect(problems({ cacheTypeK: 'q8_0', cacheTypeV: 'f16', flashAttention: false })).toEqual([])
})

test('a draft has limits that agree', () => {
  expect(problems({ draft: { source: '/d.gguf', minTokens: 4, maxTokens: 3 } })).toEqual([
    'draft.minTokens: must not be above maxTokens (3)',
  ])
  expect(problems({ draft: { source: '/d.gguf', minProbability: 1.1 } })).toHaveLength(1)
})

describe('args', () => {
  test.each(['--mlock', '--numa', 'distribute', '-ub', '512', '--lora'])('%s goes through', (argument) => {
    expect(problems({ args: [argument] })).toEqual([])
  })

  test.each([
    ['--port', 'chooses where it listens'],
    ['--host=0.0.0.0', 'chooses where it listens'],
    ['--api-key', 'private key'],
    ['--api_key_file', 'private key'],
    ['-m', '`source`'],
    ['-hf', '`source`'],
    ['--ctx_size', '`contextLength`'],
    ['-np', '`slots`'],
    ['-md', '`draft`'],
    ['--draft-max', '`draft`'],
    ['--context-shift', 'cut without a word'],
  ])('%s is refused, with what to do instead', (argument, instead) => {
    expect(refuseArgument(argument)).toContain(instead)
    expect(problems({ args: ['--mlock', argument] })).toEqual([expect.stringMatching(/^args\.1: .* may not be set here/)])
  })
})
