import { describe, expect, test } from 'vitest'
import { llamaServerModel } from './llama-server-schema.ts'
import { refuseArgument } from './reserved-arguments.ts'

const minimal = { engine: 'llama-server', id: 'm', source: '/m.gguf' }
const problems = (more: object) => {
  const { error } = llamaServerModel.safeParse({ ...minimal, ...more })
  return (error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`)
}

test('only a source is required', () => {
  expect(llamaServerModel.parse(minimal)).toMatchObject({
    source: [{ type: 'path', path: '/m.gguf' }],
    slots: 4,
    flashAttention: 'auto',
    args: [],
  })
})

test.each(['f32', 'f16', 'bf16', 'q8_0', 'q4_0', 'q4_1', 'iq4_nl', 'q5_0', 'q5_1'])('the cache type %s is accepted', (type) => {
  expect(problems({ cacheTypeK: type, cacheTypeV: type })).toEqual([])
})

test('one GPU and shares of several contradict each other', () => {
  expect(problems({ mainGpu: 0, tensorSplit: [1, 1] })).toEqual([
    'mainGpu: cannot be used together with `tensorSplit`, which uses several GPUs: remove one of them',
  ])
})

test('another cache type is refused', () => {
  expect(problems({ cacheTypeK: 'q3' })).toHaveLength(1)
})

test('quantized cached values without flash attention are refused', () => {
  expect(problems({ cacheTypeV: 'q8_0', flashAttention: false })).toEqual([
    expect.stringMatching(/^cacheTypeV: q8_0 needs flash/),
  ])
  expect(problems({ cacheTypeK: 'q8_0', cacheTypeV: 'f16', flashAttention: false })).toEqual([])
})

test('the limits of a draft must not conflict', () => {
  expect(problems({ draft: { source: '/d.gguf', minTokens: 4, maxTokens: 3 } })).toEqual([
    'draft.minTokens: must not be above maxTokens (3)',
  ])
  expect(problems({ draft: { source: '/d.gguf', minProbability: 1.1 } })).toHaveLength(1)
})

describe('args', () => {
  test.each(['--mlock', '--numa', 'distribute', '-ub', '512', '--lora'])('%s is accepted', (argument) => {
    expect(problems({ args: [argument] })).toEqual([])
  })

  test.each([
    ['--port', 'chooses the address'],
    ['--host=0.0.0.0', 'chooses the address'],
    ['--api-key', 'private key'],
    ['--api_key_file', 'private key'],
    ['-m', '`source`'],
    ['-hf', '`source`'],
    ['--ctx_size', '`contextLength`'],
    ['-np', '`slots`'],
    ['-md', '`draft`'],
    ['--draft-max', '`draft`'],
    ['--context-shift', 'truncated silently'],
  ])('%s is refused with advice', (argument, instead) => {
    expect(refuseArgument(argument)).toContain(instead)
    expect(problems({ args: ['--mlock', argument] })).toEqual([expect.stringMatching(/^args\.1: .* must not be set here/)])
  })
})
