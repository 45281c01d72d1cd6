import { describe, expect, test } from 'vitest'
import { AppError } from '../../contract/errors.ts'
import { readPreset } from './read-preset.ts'

type Wire = Parameters<typeof readPreset>[0]

describe('readPreset', () => {
  test('each field goes where its kind says, falsy values too', () => {
    const { preset } = readPreset(
      {
        temperature: { override: 0 },
        top_k: { override: -1, force: true },
        ignore_eos: { override: false, force: true },
        rep_pen: { override: 1.1, force: true, additive: true },
        stop: { override: ['a'], additive: true },
        dry_sequence_breakers: { override: '["x"]', additive: true },
        max_tokens: { override: 150 },
        min_p: { override: null, force: true },
        xtc_threshold: { override: 0 },
        logit_bias: { override: { 5: -100 } },
        banned_tokens: { override: '6, 7', additive: true },
      },
      'overrides',
    )
    expect(preset).toEqual({
      defaults: { sampling: { temperature: 0, xtc: { threshold: 0 }, logitBias: new Map([[5, -100]]) }, maxOutputTokens: 150 },
      forced: {
        sampling: {
          topK: 0,
          repetitionPenalty: 1.1,
          logitBias: new Map([
            [6, -100],
            [7, -100],
          ]),
        },
        ignoreEos: false,
      },
      added: { stop: ['a'], sequenceBreakers: ['x'] },
    })
  })

  test('what conversations are rendered with is for requests that do not say, or for all', () => {
    const { preset } = readPreset(
      {
        enable_thinking: { override: false },
        preserve_thinking: { override: true, force: true },
        template_vars: { override: { tone: 'dry' } },
        chat_template_kwargs: { override: { region: 'eu', enable_thinking: true }, force: true },
      },
      'overrides',
    )
    expect(preset.chat).toEqual({
      reasoning: { enabled: false },
      variables: { tone: 'dry' },
      forcedReasoning: { preserve: true },
      forcedVariables: { region: 'eu', enable_thinking: true },
    })
    expect(readPreset({ top_k: { override: 3 } }, 'overrides').preset).not.toHaveProperty('chat')
  })

  test('a null is no override, and is not shown', () => {
    expect(readPreset({ top_p: { override: null }, min_p: { override: 0 } }, 'o').overrides).toEqual({ min_p: { override: 0 } })
  })

  test.each([[''], [[]], [['']]])('%j as stop means no stop sequences, as in a request', (override) => {
    expect(readPreset({ stop: { override, force: true } }, 'o').preset.forced.stop).toEqual([])
  })

  test.each<[Wire, string, string]>([
    [{ temperature: { override: 11 } }, 'invalid-request', 'overrides.temperature'],
    [{ temperature: { override: -1, force: true } }, 'invalid-request', 'overrides.temperature'],
    [{ top_p: { override: 'high' } }, 'invalid-request', 'overrides.top_p'],
    [{ max_tokens: { override: 0, force: true } }, 'invalid-request', 'overrides.max_tokens'],
    [{ model: { override: 'a' } }, 'invalid-request', 'overrides.model'],
    [{ n: { override: 2 } }, 'invalid-request', 'overrides.n'],
    [{ temprature: { override: 1 } }, 'invalid-request', 'overrides.temprature'],
    [{ penalty_alpha: { override: 0.5 } }, 'unsupported-field', 'overrides.penalty_alpha'],
    [{ temperature: { override: 1, additive: true } }, 'invalid-request', 'overrides.temperature'],
    [{ ignore_eos: { override: true } }, 'invalid-request', 'overrides.ignore_eos'],
    [{ stop: { override: ['a'] }, stop_sequence: { override: ['b'] } }, 'invalid-request', 'overrides.stop_sequence'],
    [{ template_vars: { override: { messages: [] }, force: true } }, 'invalid-request', 'overrides.template_vars'],
    [{ template_vars: { override: { thinking: true } } }, 'invalid-request', 'overrides.template_vars'],
    [{ reasoning_effort: { override: '' } }, 'invalid-request', 'overrides.reasoning_effort'],
    [{ enable_thinking: { override: 'yes' } }, 'invalid-request', 'overrides.enable_thinking'],
    [{ do_sample: { override: false }, temperature: { override: 1 } }, 'invalid-request', 'overrides.do_sample'],
  ])('%j is refused by name', (wire, code, param) => {
    const attempt = () => readPreset(wire, 'overrides')
    expect(attempt).toThrow(AppError)
    expect(attempt).toThrow(expect.objectContaining({ code, param }))
  })

  test('fields that change nothing with their neutral value may stand in a preset', () => {
    const wire = { penalty_alpha: { override: 0 }, epsilon_cutoff: { override: 0 }, num_ctx: { override: 1 } }
    expect(readPreset(wire, 'o').preset.defaults).toEqual({ sampling: {} })
  })
})
