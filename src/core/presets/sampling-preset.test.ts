import { describe, expect, test } from 'vitest'
import { type GenerationRequest, plainRequest } from '../../contract/request.ts'
import type { PresetValues, SamplingPreset } from '../../contract/server/sampling-preset.ts'
import { applyPreset } from './sampling-preset.ts'

const nothing: PresetValues = { sampling: {} }
const empty: SamplingPreset = { defaults: nothing, forced: nothing, added: { stop: [], sequenceBreakers: [] } }

function request(more: Partial<GenerationRequest>): GenerationRequest {
  return { ...plainRequest, id: 'r', model: 'm', prompt: { type: 'text', text: 'a' }, ...more }
}

describe('applyPreset', () => {
  test('an empty preset changes nothing', () => {
    const asked = request({ sampling: { temperature: 0, dry: { base: 2 } }, maxOutputTokens: 3, stop: ['a'], ignoreEos: true })
    expect(applyPreset(asked, empty)).toEqual(asked)
  })

  test.each<[string, Partial<SamplingPreset>, Partial<GenerationRequest>, Partial<GenerationRequest>]>([
    ['a default fills what is absent', { defaults: { sampling: { topK: 0 } } }, {}, { sampling: { topK: 0 } }],
    [
      'a default gives way to any value, 0 too',
      { defaults: { sampling: { temperature: 1, topP: 0.5 } } },
      { sampling: { temperature: 0 } },
      { sampling: { temperature: 0, topP: 0.5 } },
    ],
    [
      'what is forced wins, 0 too',
      { forced: { sampling: { temperature: 0, topK: 0, minP: 0 } } },
      { sampling: { temperature: 1, topK: 9, seed: 5 } },
      { sampling: { temperature: 0, topK: 0, minP: 0, seed: 5 } },
    ],
    [
      'what is only read stays so',
      { forced: { sampling: {}, maxOutputTokens: 100 } },
      { promptTokens: { logprobs: { top: 0 } }, maxOutputTokens: 0 },
      { promptTokens: { logprobs: { top: 0 } }, maxOutputTokens: 0 },
    ],
    ['false can be forced', { forced: { sampling: {}, ignoreEos: false } }, { ignoreEos: true }, { ignoreEos: false }],
    ['an empty list can be forced', { forced: { sampling: {}, stop: [] } }, { stop: ['a'] }, { stop: [] }],
    [
      'the fields of dry and xtc count one by one',
      {
        defaults: { sampling: { xtc: { threshold: 0.3 }, dry: { base: 3 } } },
        forced: { sampling: { dry: { multiplier: 0 } } },
      },
      { sampling: { xtc: { probability: 1 }, dry: { multiplier: 2, base: 4 } } },
      { sampling: { xtc: { probability: 1, threshold: 0.3 }, dry: { multiplier: 0, base: 4 } } },
    ],
    [
      'lists are put in front, and keep what is there twice',
      { added: { stop: ['a', 'b'], sequenceBreakers: ['x'] } },
      { stop: ['b'], sampling: { dry: { sequenceBreakers: ['y'] } } },
      { stop: ['a', 'b', 'b'], sampling: { dry: { sequenceBreakers: ['x', 'y'] } } },
    ],
    [
      'the tokens of a bias count one by one',
      {
        defaults: { sampling: { logitBias: new Map([[1, 1]]) } },
        forced: { sampling: { logitBias: new Map([[3, -100]]) } },
      },
      { sampling: { logitBias: new Map([[3, 9]]) } },
      {
        sampling: {
          logitBias: new Map([
            [1, 1],
            [3, -100],
          ]),
        },
      },
    ],
    ['lists are added to nothing', { added: { stop: ['a'], sequenceBreakers: [] } }, {}, { stop: ['a'] }],
    ['a default list fills an empty one', { defaults: { sampling: {}, stop: ['a'] } }, {}, { stop: ['a'] }],
    ['a default list gives way', { defaults: { sampling: {}, stop: ['a'] } }, { stop: ['b'] }, { stop: ['b'] }],
    [
      'a default limit fills an absent one',
      { defaults: { sampling: {}, maxOutputTokens: 5 } },
      {},
      { maxOutputTokens: 5, isMaxOutputAssumed: true },
    ],
    [
      "a default limit wins over the protocol's own",
      { defaults: { sampling: {}, maxOutputTokens: 50 } },
      { maxOutputTokens: 16, isMaxOutputAssumed: true },
      { maxOutputTokens: 50, isMaxOutputAssumed: true },
    ],
    [
      'a default limit gives way to one that was sent',
      { defaults: { sampling: {}, maxOutputTokens: 50 } },
      { maxOutputTokens: 16 },
      { maxOutputTokens: 16 },
    ],
    ['a forced limit wins', { forced: { sampling: {}, maxOutputTokens: 1 } }, { maxOutputTokens: 9 }, { maxOutputTokens: 1 }],
  ])('%s', (_, preset, asked, expected) => {
    expect(applyPreset(request(asked), { ...empty, ...preset })).toEqual(request(expected))
  })
})
