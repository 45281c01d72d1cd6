import { describe, expect, test } from 'vitest'
import { text } from '../../../../../test/support/parts.ts'
import { type GenerationRequest, type OutputConstraint, plainChat, plainRequest } from '../../../../contract/request.ts'
import type { ProfileName } from '../../servers/profile.ts'
import { profiles } from '../../servers/profiles.ts'
import type { Upstream } from '../../servers/upstream.ts'
import { chatBody } from './chat-body.ts'
import { completionBody } from './completion-body.ts'

const user = { role: 'user', content: [text('hi')] } as const

function bodyFor(kind: ProfileName, more: Partial<GenerationRequest> = {}, upstream: Partial<Upstream> = {}) {
  const prompt = { type: 'chat', ...plainChat, messages: [user] } as const
  const request = { ...plainRequest, id: 'x', model: 'm', prompt, ...more }
  return chatBody(request, prompt, { profile: profiles[kind], model: 'up', ...upstream }).body
}

const schema = { type: 'object' }
const tagged = { type: 'tagged', structures: [{ begin: '<f>', schema, end: '</f>' }], triggers: ['<f>'] } as const

describe('constraints on the output', () => {
  test.each<[ProfileName, OutputConstraint, unknown]>([
    ['together', { type: 'json-object' }, { type: 'json_object' }],
    ['together', { type: 'json-schema', schema, strict: true }, { type: 'json_object', schema }],
    ['together', { type: 'regex', pattern: 'a+' }, { type: 'regex', pattern: 'a+' }],
    ['fireworks', { type: 'json-schema', schema, strict: true }, { type: 'json_object', schema }],
    ['fireworks', { type: 'gbnf', grammar: 'root ::= "a"' }, { type: 'grammar', grammar: 'root ::= "a"' }],
    ['tgi', { type: 'json-object' }, { type: 'json_object', value: schema }],
    ['tgi', { type: 'json-schema', schema, strict: true }, { type: 'json_object', value: schema }],
    ['tgi', { type: 'regex', pattern: 'a+' }, { type: 'regex', value: 'a+' }],
    ['groq', { type: 'json-object' }, { type: 'json_object' }],
    [
      'groq',
      { type: 'json-schema', schema, strict: true },
      { type: 'json_schema', json_schema: { name: 'output', schema, strict: true } },
    ],
    ['vllm', tagged, { type: 'structural_tag', structures: tagged.structures, triggers: ['<f>'] }],
    ['sglang', tagged, { type: 'structural_tag', structures: tagged.structures, triggers: ['<f>'] }],
  ])('%s takes %j', (kind, output, format) => {
    expect(bodyFor(kind, { output }).response_format).toEqual(format)
  })

  test.each<[ProfileName, OutputConstraint]>([
    ['together', { type: 'gbnf', grammar: 'root ::= "a"' }],
    ['fireworks', { type: 'regex', pattern: 'a' }],
    ['tgi', { type: 'gbnf', grammar: 'root ::= "a"' }],
    ['groq', { type: 'regex', pattern: 'a' }],
    ['openai', tagged],
  ])('%s is not sent %j, which it would ignore', (kind, output) => {
    expect(() => bodyFor(kind, { output })).toThrow(expect.objectContaining({ code: 'unsupported-field', at: ['output'] }))
  })
})

describe('sampling', () => {
  const sampling = { topK: 5, minP: 0.1, repetitionPenalty: 1.1, seed: 3, presencePenalty: 1, frequencyPenalty: 1 }

  test.each<ProfileName>(['together', 'fireworks'])('%s knows the fields of vLLM', (kind) => {
    expect(bodyFor(kind, { sampling })).toMatchObject({
      top_k: 5,
      min_p: 0.1,
      repetition_penalty: 1.1,
      seed: 3,
      presence_penalty: 1,
      frequency_penalty: 1,
    })
  })

  test.each<[ProfileName, keyof typeof sampling]>([
    ['tgi', 'topK'],
    ['tgi', 'presencePenalty'],
    ['groq', 'frequencyPenalty'],
    ['groq', 'minP'],
  ])('%s is not sent %s, which it would ignore or refuse', (kind, field) => {
    expect(() => bodyFor(kind, { sampling: { [field]: sampling[field] } })).toThrow(
      expect.objectContaining({ code: 'unsupported-field', at: ['sampling', field] }),
    )
  })

  test('Fireworks is sent the context as the limit of a request without one: its own is low', () => {
    expect(bodyFor('fireworks', {}, { contextLength: 131_072 })).toMatchObject({ max_tokens: 131_072 })
    expect(bodyFor('fireworks')).toMatchObject({ max_tokens: 8192 })
    expect(bodyFor('fireworks', { maxOutputTokens: 5 }, { contextLength: 131_072 })).toMatchObject({ max_tokens: 5 })
    expect(bodyFor('together', {}, { contextLength: 131_072 })).not.toHaveProperty('max_tokens')
  })
})

describe('log-probabilities', () => {
  test.each<[ProfileName, number, Record<string, unknown>]>([
    ['together', 0, { logprobs: 1 }],
    ['together', 1, { logprobs: 1 }],
    ['fireworks', 0, { logprobs: true, top_logprobs: 1 }],
    ['fireworks', 4, { logprobs: true, top_logprobs: 4 }],
    ['tgi', 5, { logprobs: true, top_logprobs: 5 }],
  ])('log-probabilities of %s, with %i top ones', (kind, top, fields) => {
    expect(bodyFor(kind, { logprobs: { top } })).toMatchObject(fields)
  })

  test.each<[ProfileName, number, readonly string[]]>([
    ['together', 2, ['logprobs', 'top']],
    ['fireworks', 5, ['logprobs', 'top']],
    ['tgi', 6, ['logprobs', 'top']],
    ['groq', 0, ['logprobs']],
  ])('%s is not asked for %i top ones', (kind, top, at) => {
    expect(() => bodyFor(kind, { logprobs: { top } })).toThrow(expect.objectContaining({ code: 'unsupported-field', at }))
  })

  test('completions have the same limits', () => {
    const prompt = { type: 'text', text: 'a' } as const
    const request = { ...plainRequest, id: 'x', model: 'm', prompt, logprobs: { top: 2 } }
    const complete = (kind: ProfileName) => completionBody(request, prompt, { profile: profiles[kind], model: 'up' })
    expect(complete('fireworks').body).toMatchObject({ logprobs: 2 })
    expect(() => complete('together')).toThrow(expect.objectContaining({ at: ['logprobs', 'top'] }))
  })
})

test('Groq is sent no names of speakers, which it refuses', () => {
  const prompt = { type: 'chat', ...plainChat, messages: [{ ...user, name: 'Ada' }] } as const
  const request = { ...plainRequest, id: 'x', model: 'm', prompt }
  expect(() => chatBody(request, prompt, { profile: profiles.groq, model: 'up' })).toThrow(
    expect.objectContaining({ code: 'unsupported-field', at: ['prompt', 'messages', 0, 'name'] }),
  )
})
