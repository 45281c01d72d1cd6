import { describe, expect, test } from 'vitest'
import { plainChat, plainRequest } from '../../contract/request.ts'
import { refuseImpossible } from './check-request.ts'

describe('a prompt that cannot fit is refused before the worker gets it', () => {
  const model = { vocabularySize: 100, contextLength: 512 }
  const say = (text: string) => ({ role: 'user', content: [{ type: 'text', text }] }) as const
  const chat = (texts: readonly string[]) => ({ type: 'chat', ...plainChat, messages: texts.map(say) }) as const
  const check = (prompt: Parameters<typeof refuseImpossible>[0]['prompt']) =>
    refuseImpossible({ sampling: {}, prompt: prompt ?? plainRequest }, model)

  test.each([
    ['a text', { type: 'text', text: 'a'.repeat(200_000) }, 50_000],
    ['a message', chat(['a'.repeat(200_000)]), 50_000],
    ['many messages', chat(Array(600).fill('a')), 600],
    ['an infill', { type: 'infill', prefix: 'a'.repeat(200_000), suffix: '' }, 50_000],
  ] as const)('%s is refused', (_, prompt, inputTokens) => {
    expect(() => check(prompt)).toThrow(
      expect.objectContaining({
        code: 'context-length-exceeded',
        overflow: expect.objectContaining({ inputTokens, estimated: true }),
      }),
    )
  })

  test.each([[{ type: 'text', text: ' '.repeat(100_000) }], [chat(Array(500).fill('a'))]] as const)(
    'a prompt that may fit passes',
    (prompt) => {
      expect(() => check(prompt)).not.toThrow()
    },
  )
})
