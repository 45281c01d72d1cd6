import { expect, test } from 'vitest'
import { unreadBy } from './unread.ts'

const seeing = { id: 'seeing', architecture: { input_modalities: ['text', 'image'] } }
const blind = { id: 'blind', architecture: { input_modalities: ['text'] }, media_problem: 'run `npm run senses`' }
const picture = { kind: 'image' } as const

test('an attachment is refused before it is sent where a model is known not to read it, with the reason', () => {
  expect(unreadBy([seeing], [picture, { kind: 'text' }])).toBeUndefined()
  expect(unreadBy([{ id: 'unknown' }], [picture])).toBeUndefined()
  expect(unreadBy([seeing], [{ kind: 'audio' }])).toBe('seeing does not read sounds.')
  expect(unreadBy([seeing, blind], [picture])).toBe('blind does not read pictures: run `npm run senses`.')
})
