import { expect, test } from 'vitest'
import { plainChat } from '../../contract/request.ts'
import type { ExchangeCommand } from './channel/ipc.ts'
import { tookTooLong } from './took-too-long.ts'

const id = 'r'
const chat = { type: 'chat', ...plainChat, messages: [] } as const
const text = { type: 'text', text: 'x' } as const
const reasoning = {}
const toolChoice = { type: 'auto' } as const

test.each<[string, ExchangeCommand, string, RegExp]>([
  ['a chat', { type: 'prepare', id, prompt: chat, reasoning, toolChoice }, 'template-failed', /conversation/],
  ['a text', { type: 'prepare', id, prompt: text, reasoning, toolChoice }, 'engine-failed', /tokenizing the prompt/],
  ['a template', { type: 'use-template', id, choice: { type: 'own' } }, 'template-failed', /switching the chat template/],
  [
    'tokens',
    { type: 'ask', id, request: { type: 'detokenize', tokens: new Uint32Array(7), special: true } },
    'engine-failed',
    /7 tokens/,
  ],
  ['a rendering', { type: 'ask', id, request: { type: 'render', prompt: chat, reasoning } }, 'template-failed', /conversation/],
])('a late reply about %s names the work that took too long, and the limit', (_, command, code, message) => {
  expect(tookTooLong(command, 3000)).toMatchObject({ code, message: expect.stringMatching(message) })
  expect(tookTooLong(command, 3000).message).toContain('3000 ms')
})
