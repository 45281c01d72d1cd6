import { expect, test } from 'vitest'
import { type GenerationRequest, plainRequest } from '../../../../contract/request.ts'
import type { ProfileName } from '../../servers/profile.ts'
import { profiles } from '../../servers/profiles.ts'
import { completionBody } from './completion-body.ts'

test('special tokens of a raw prompt are asked of a server that can show them', () => {
  const raw = (kind: ProfileName, more: Partial<GenerationRequest>) => {
    const prompt = { type: 'tokens', tokens: [1] } as const
    return completionBody({ ...plainRequest, id: 'x', model: 'm', prompt, ...more }, prompt, {
      profile: profiles[kind],
      model: 'up',
    }).body
  }
  expect(raw('vllm', { showsSpecialTokens: true })).toMatchObject({ skip_special_tokens: false })
  expect(raw('vllm', {})).not.toHaveProperty('skip_special_tokens')
  expect(() => raw('llama-server', { showsSpecialTokens: true })).toThrow(
    expect.objectContaining({ code: 'unsupported-field', at: ['showsSpecialTokens'] }),
  )
})
