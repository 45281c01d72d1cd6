import { expect, test } from 'vitest'
import { plainChat } from '../../../../contract/request.ts'
import { type ProfileName, profileNames } from '../../servers/profile.ts'
import { profileIn } from '../../servers/protocols.ts'
import { templateField } from './template-field.ts'

const taking: readonly ProfileName[] = ['vllm', 'aphrodite']
const prompt = { type: 'chat', ...plainChat, messages: [] } as const
const named = { ...prompt, template: { type: 'named', name: 'a', source: 'A' } } as const
const refusal = expect.objectContaining({ code: 'unsupported-field', at: ['prompt', 'template'] })

test.each(profileNames)('%s gets the text of the template of a request in chats, or the request is refused', (kind) => {
  const profile = profileIn(kind, 'chat')
  if (taking.includes(kind)) expect(templateField(named, profile)).toEqual({ chat_template: 'A' })
  else expect(() => templateField(named, profile)).toThrow(refusal)
})

test.each(['responses', 'messages'] as const)('%s have no field for it', (protocol) => {
  expect(() => templateField(named, profileIn('vllm', protocol))).toThrow(refusal)
})

test("the model's own template is what each server has", () => {
  expect(templateField({ ...prompt, template: { type: 'own' } }, profileIn('openai', 'chat'))).toEqual({})
  expect(templateField(prompt, profileIn('openai', 'chat'))).toEqual({})
})
