import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { roundsOf } from '../../../test/support/process/soak-length.ts'
import { AppError } from '../../contract/errors.ts'
import { type GenerationRequest, plainChat, plainRequest } from '../../contract/request.ts'
import { encodeOpenaiError } from '../openai/errors.ts'
import { decodeChat } from './decode.ts'
import { chatFields } from './fields.ts'

const base = { model: 'm', messages: [{ role: 'user', content: 'hi' }] }

function requestOf(fields: object): GenerationRequest {
  return decodeChat({ ...base, ...fields }, 'chatcmpl-1').request
}

function failureOf(body: unknown): AppError {
  try {
    decodeChat(body, 'chatcmpl-1')
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
  throw new Error('the body was accepted')
}

describe('decodeChat', () => {
  test('a small request decodes to its canonical form, with nothing made up', () => {
    expect(decodeChat(base, 'chatcmpl-1')).toEqual({
      request: {
        ...plainRequest,
        id: 'chatcmpl-1',
        model: 'm',
        prompt: { type: 'chat', messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }], ...plainChat },
      },
      stream: false,
      includeUsage: false,
      timingsPerToken: false,
      legacyCalls: false,
      showsReasoning: true,
      ignored: [],
      nameOf: expect.any(Function),
    })
  })

  test.each<[object, object]>([
    [{ temperature: 0 }, { temperature: 0 }],
    [
      { temperature: 2, top_p: 0, min_p: 1 },
      { temperature: 2, topP: 0, minP: 1 },
    ],
    [{ do_sample: false }, { temperature: 0 }],
    [{ do_sample: false, temperature: 0 }, { temperature: 0 }],
    [{ do_sample: true }, {}],
    [{ top_k: -1 }, { topK: 0 }],
    [{ top_k: 0 }, { topK: 0 }],
    [{ top_k: 40 }, { topK: 40 }],
    [{ seed: 42 }, { seed: 42 }],
    [{ seed: -1 }, {}],
    [{ seed: -2 }, { seed: 4294967294 }],
    [{ temperature_last: false }, { temperatureLast: false }],
    [{ typ_p: 0.5 }, { typicalP: 0.5 }],
    [{ nsigma: 1.5 }, { topNSigma: 1.5 }],
    [{ top_n_sigma: -1 }, { topNSigma: 0 }],
    [{ mirostat: 2, mirostat_tau: 4, mirostat_eta: 0.2 }, { mirostat: { version: 2, tau: 4, eta: 0.2 } }],
    [{ adaptive_target: 0.3, adaptive_decay: 0.5 }, { adaptiveP: { target: 0.3, decay: 0.5 } }],
    [{ adaptive_target: 1 }, { adaptiveP: { target: -1 } }],
    [{ dynatemp_range: 0.5, temp_exponent: 2 }, { dynamicTemperature: { range: 0.5, exponent: 2 } }],
    [
      { temperature: 0.7, min_temp: 0.5, max_temp: 1.5 },
      { temperature: 1, dynamicTemperature: { range: 0.5 } },
    ],
    [{ dynamic_temperature: false, dynatemp_low: 0.5, dynatemp_high: 1.5, temperature: 0.7 }, { temperature: 0.7 }],
    [{ seed: Number.MAX_SAFE_INTEGER }, { seed: 4294967295 }],
    [{ seed: 4294967296 }, { seed: 0 }],
    [{ seed: 2 ** 60 + 2 ** 10 }, { seed: 1024 }],
    [{ repeat_penalty: 1.1 }, { repetitionPenalty: 1.1 }],
    [{ rep_pen: 1.1, repetition_penalty: 1.1 }, { repetitionPenalty: 1.1 }],
    [
      { presence_penalty: -2, frequency_penalty: 2 },
      { presencePenalty: -2, frequencyPenalty: 2 },
    ],
    [
      { logit_bias: { 0: -100, 50256: 0.5 } },
      {
        logitBias: new Map([
          [0, -100],
          [50256, 0.5],
        ]),
      },
    ],
    [{ rep_pen_range: 64 }, { repetitionRange: 64 }],
    [{ repeat_last_n: -1, penalty_range: -1 }, { repetitionRange: -1 }],
    [{ banned_tokens: [] }, { logitBias: new Map() }],
    [{ custom_token_bans: ' 5 ,6' }, { logitBias: new Map([5, 6].map((token) => [token, -100])) }],
    [
      { banned_tokens: [5], logit_bias: { 5: -100, 7: 1 } },
      {
        logitBias: new Map([
          [5, -100],
          [7, 1],
        ]),
      },
    ],
    [{ xtc_probability: 0.5 }, { xtc: { probability: 0.5 } }],
    [{ xtc_threshold: 0.2 }, { xtc: { threshold: 0.2 } }],
    [{ dry_multiplier: 0.8 }, { dry: { multiplier: 0.8 } }],
    [
      { dry_multiplier: 1, dry_base: 2, dry_allowed_length: 3, dry_penalty_last_n: 64, dry_sequence_breakers: '["a"]' },
      { dry: { multiplier: 1, base: 2, allowedLength: 3, range: 64, sequenceBreakers: ['a'] } },
    ],
    [{ dry_sequence_breakers: '"a", "\\n"' }, { dry: { sequenceBreakers: ['a', '\n'] } }],
    [{ dry_sequence_breakers: '' }, { dry: { sequenceBreakers: [] } }],
    [{ mirostat: true }, { mirostat: { version: 1 } }],
    [{ mirostat: true, mirostat_mode: 2 }, { mirostat: { version: 2 } }],
    [{ mirostat: false, mirostat_mode: 0 }, { mirostat: { version: 0 } }],
    [
      {
        logit_bias: [
          [5, false],
          [7, 1],
        ],
      },
      {
        logitBias: new Map([
          [5, -100],
          [7, 1],
        ]),
      },
    ],
  ])('%j gives the sampling %j', (fields, sampling) => {
    expect(requestOf(fields).sampling).toEqual(sampling)
  })

  test.each<[object, Partial<GenerationRequest>]>([
    [{ stop: 'a' }, { stop: ['a'] }],
    [{ stop: [] }, { stop: [] }],
    [{ stop_sequence: ['a', 'b'] }, { stop: ['a', 'b'] }],
    [{ max_tokens: 5 }, { maxOutputTokens: 5 }],
    [{ max_tokens: 5, max_completion_tokens: 5 }, { maxOutputTokens: 5 }],
    [{ max_length: 1 }, { maxOutputTokens: 1 }],
    [{ n_predict: 1 }, { maxOutputTokens: 1 }],
    [{ n_predict: -1 }, {}],
    [{ ban_eos_token: true }, { ignoreEos: true }],
    [{ n_probs: 3 }, { logprobs: { top: 3 } }],
    [{ n_probs: 3, logprobs: true }, { logprobs: { top: 3 } }],
  ])('%j gives %j', (fields, expected) => {
    expect(requestOf(fields)).toMatchObject(expected)
  })

  test.each<[object, string]>([
    [{ temperature: 10.1 }, 'temperature'],
    [{ temperature: -0.1 }, 'temperature'],
    [{ temperature: '1' }, 'temperature'],
    [{ top_p: 1.1 }, 'top_p'],
    [{ top_k: -2 }, 'top_k'],
    [{ top_k: 1.5 }, 'top_k'],
    [{ min_p: -0.1 }, 'min_p'],
    [{ seed: 1.5 }, 'seed'],
    [{ penalty_range: -2 }, 'penalty_range'],
    [{ banned_tokens: '5;6' }, 'banned_tokens'],
    [{ banned_tokens: [-1] }, 'banned_tokens[0]'],
    [{ custom_token_bans: [5], logit_bias: { 5: 1 } }, 'custom_token_bans'],
    [{ repetition_penalty: 0 }, 'repetition_penalty'],
    [{ rep_pen: -1 }, 'rep_pen'],
    [{ presence_penalty: 2.5 }, 'presence_penalty'],
    [{ frequency_penalty: -3 }, 'frequency_penalty'],
    [{ logit_bias: { 1: 101 } }, 'logit_bias.1'],
    [{ logit_bias: { x: 1 } }, 'logit_bias.x'],
    [{ logit_bias: { '-1': 1 } }, 'logit_bias["-1"]'],
    [{ xtc_probability: 2 }, 'xtc_probability'],
    [{ dry_multiplier: -1 }, 'dry_multiplier'],
    [{ dry_base: 0.99, dry_multiplier: 0.8 }, 'dry_base'],
    [{ dry_range: -2 }, 'dry_range'],
    [{ dry_sequence_breakers: 'no json' }, 'dry_sequence_breakers'],
    [{ dry_sequence_breakers: '[1]' }, 'dry_sequence_breakers'],
    [{ stop: Array.from({ length: 1025 }, (_, index) => `s${index}`) }, 'stop'],
    [{ stop: [true] }, 'stop[0]'],
    [{ max_tokens: 0 }, 'max_tokens'],
    [{ max_completion_tokens: 1.5 }, 'max_completion_tokens'],
    [{ stream: 'yes' }, 'stream'],
    [{ model: '' }, 'model'],
    [{ model: undefined }, 'model'],
    [{ messages: [] }, 'messages'],
    [{ messages: undefined }, 'messages'],
    [{ do_sample: false, temperature: 1 }, 'do_sample'],
  ])('%j is refused with its param', (fields, param) => {
    expect(failureOf({ ...base, ...fields })).toMatchObject({ code: 'invalid-request', param })
  })

  test('a range is told whole, with the value that left it', () => {
    expect(failureOf({ ...base, temperature: 11 }).message).toBe('temperature: expected a number from 0 to 10, got 11')
    expect(failureOf({ ...base, top_k: -2 }).message).toBe('top_k: expected an integer of at least -1, got -2')
  })

  test('all faults of the fields and all refusals are named at once', () => {
    const failure = failureOf({ ...base, temperature: 11, top_k: -2, watermark: true, num_beams: 2, tfs: 1 })
    expect(failure).toMatchObject({ code: 'invalid-request', param: 'temperature' })
    expect(failure.message.split('; ').map((fault) => fault.split(/:? /)[0])).toEqual([
      'temperature',
      'top_k',
      'watermark',
      'num_beams',
    ])
  })

  test.each<[object, string, string]>([
    [{ max_tokens: 1, max_completion_tokens: 2 }, 'max_completion_tokens', 'max_tokens'],
    [{ max_tokens: 1, max_length: 2 }, 'max_tokens', 'max_length'],
    [{ stop: 'a', stop_sequence: 'b' }, 'stop', 'stop_sequence'],
    [{ repetition_penalty: 1, rep_pen: 2 }, 'repetition_penalty', 'rep_pen'],
    [{ dry_range: 1, dry_penalty_last_n: 2 }, 'dry_range', 'dry_penalty_last_n'],
    [{ ignore_eos: true, ban_eos_token: false }, 'ignore_eos', 'ban_eos_token'],
  ])('%j contradicts itself, and both names are told', (fields, first, second) => {
    const failure = failureOf({ ...base, ...fields })
    expect(failure).toMatchObject({ code: 'invalid-request', param: second })
    expect(failure.message).toContain(first)
    expect(failure.message).toContain(second)
  })

  test('usage is included in a stream only when it was asked for', () => {
    const includeUsage = (stream_options: unknown) => decodeChat({ ...base, stream: true, stream_options }, 'x').includeUsage
    expect([{ include_usage: true }, { include_usage: false }, {}, null, undefined].map(includeUsage)).toEqual([
      true,
      false,
      false,
      false,
      false,
    ])
  })

  test('obfuscation of a stream is refused, and its absence is not', () => {
    const body = { ...base, stream: true, stream_options: { include_obfuscation: true } }
    expect(failureOf(body)).toMatchObject({ code: 'unsupported-field', param: 'stream_options.include_obfuscation' })
    expect(decodeChat({ ...body, stream_options: { include_obfuscation: false } }, 'x').stream).toBe(true)
  })

  test('unknown keys are accepted and listed, wherever the known ones are', () => {
    expect(decodeChat({ zebra: 1, ...base, seed: 1, 'x-y': '', absent: null }, 'x').ignored).toEqual(['zebra', 'x-y'])
  })

  test('any JSON is decoded or refused with an AppError', () => {
    const names = [...chatFields.map(({ name }) => name), 'role', 'content', 'type', 'text', 'tool_calls', 'function', 'unknown']
    const words = ['user', 'assistant', 'tool', 'function', 'text', 'image_url', 'file', 'a']
    const leaf = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom(...words), fc.double())
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 4 }, leaf, fc.array(tie('value')), fc.dictionary(fc.constantFrom(...names), tie('value'))),
    }))
    const shaped = fc.record({ model: fc.constant('m'), messages: fc.array(value) })
    const extended = fc
      .tuple(shaped, fc.dictionary(fc.constantFrom(...names), value))
      .map(([body, more]) => ({ ...more, ...body }))
    const withGoodMessages = fc.dictionary(fc.constantFrom(...names), value).map((more) => ({ ...more, ...base }))
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), value, extended, withGoodMessages), (body) => {
        try {
          decodeChat(body, 'x')
        } catch (error) {
          expect(error).toBeInstanceOf(AppError)
          expect(encodeOpenaiError(error as AppError).status).toBe(400)
          expect((error as AppError).message.length).toBeLessThan(1000)
        }
      }),
      { numRuns: roundsOf(200, 1000) },
    )
  })

  const deep: unknown = JSON.parse(`${'{"a":['.repeat(50_000)}${']}'.repeat(50_000)}`)
  test.each([...chatFields.map(({ name }) => name), 'unknown'])('nesting of any depth in %s is decoded or refused', (name) => {
    for (const value of [deep, [deep], [{ role: 'user', content: [deep] }]]) {
      try {
        decodeChat({ ...base, [name]: value }, 'x')
      } catch (error) {
        expect(error).toBeInstanceOf(AppError)
      }
    }
  })
})

test('what only the server behind a model can use is passed on', () => {
  const messages = [{ role: 'user', content: 'hi' }]
  const fields = {
    user: 'u',
    safety_identifier: 's',
    service_tier: 'flex',
    prompt_cache_key: 'k',
    metadata: { a: 'b' },
  }
  const { request } = decodeChat({ model: 'm', messages, ...fields }, 'id')
  const forwarded = {
    user: 'u',
    safetyIdentifier: 's',
    serviceTier: 'flex',
    promptCacheKey: 'k',
    metadata: { a: 'b' },
  }
  expect(request.forwarded).toEqual(forwarded)
  expect(decodeChat({ model: 'm', messages }, 'id').request.forwarded).toBeUndefined()
})
