import { expect, test } from 'vitest'
import { onlyLoads } from './only-loads.ts'

test.each<[string, unknown, 'chat' | 'text', boolean]>([
  ['no messages', { model: 'm' }, 'chat', true],
  ['an empty list of messages', { model: 'm', messages: [] }, 'chat', true],
  ['a message', { model: 'm', messages: [{ role: 'user', content: '' }] }, 'chat', false],
  ['no prompt', { model: 'm' }, 'text', true],
  ['an empty prompt', { model: 'm', prompt: '', images: [] }, 'text', true],
  ['a suffix alone', { model: 'm', suffix: 'b' }, 'text', false],
  ['an image alone', { model: 'm', prompt: '', images: ['a'] }, 'text', false],
  ['nothing that is a body', null, 'text', false],
  ['a text', 'm', 'chat', false],
])('a body with %s only loads its model, or not', (_, body, form, expected) => {
  expect(onlyLoads(body, form)).toBe(expected)
})
