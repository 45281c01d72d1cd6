import { expect, test } from 'vitest'
import { text } from '../../../../../test/support/parts.ts'
import { type Message, plainChat, plainRequest } from '../../../../contract/request.ts'
import { profiles } from '../../servers/profiles.ts'
import { chatBody } from './chat-body.ts'
import { messagesBody } from './messages-body.ts'

const messages: readonly Message[] = [
  { role: 'user', content: [text('hi')] },
  { role: 'assistant', parts: [text('[f(a=1)]')] },
  { role: 'tool', toolCallId: 'c', content: [text('21')] },
]
const prompt = { type: 'chat', ...plainChat, messages, tools: [{ name: 'f' }], toolFormat: 'pythonic' } as const
const request = { ...plainRequest, id: 'x', model: 'm', prompt, toolChoice: { type: 'required' } } as const

test.each([
  ['vllm', chatBody],
  ['openai', chatBody],
  ['llama-server', chatBody],
  ['anthropic', messagesBody],
] as const)('%s gets no tools, and results from the user, where the messages show the tools', (kind, bodyOf) => {
  const { body } = bodyOf(request, prompt, { profile: profiles[kind], model: 'up' })
  expect(body).not.toHaveProperty('tools')
  expect(body).not.toHaveProperty('tool_choice')
  expect(body.messages).toEqual([
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: '[f(a=1)]' },
    { role: 'user', content: '21' },
  ])
})

test.each([
  ['openai', chatBody, { verbosity: 'medium' }],
  ['vllm', chatBody, { chat_template_kwargs: { verbosity: 'medium' } }],
  ['groq', chatBody, {}],
  ['anthropic', messagesBody, {}],
] as const)('%s is sent the usual verbosity where it has the field', (kind, bodyOf, fields) => {
  const { toolFormat: _, ...usual } = { ...prompt, tools: [], templateVariables: { verbosity: 'medium' } }
  const upstream = { profile: profiles[kind], model: 'up' }
  const without = bodyOf(request, { ...usual, templateVariables: {} }, upstream)
  expect(bodyOf(request, usual, upstream).body).toEqual({ ...without.body, ...fields })
})
