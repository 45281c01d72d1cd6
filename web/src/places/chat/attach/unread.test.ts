import { expect, test } from 'vitest'
import { unreadBy } from './unread.ts'

const seeing = { id: 'seeing', architecture: { input_modalities: ['text', 'image'] } }
const blind = { id: 'blind', architecture: { input_modalities: ['text'] }, media_problem: 'run `npm run senses`' }
const picture = { kind: 'image' } as const

test('an attachment is refused before it is sent where a model is known not to read it, with the reason', () => {
  expect(unreadBy([seeing], [picture, { kind: 'text' }], [])).toBeUndefined()
  expect(unreadBy([{ id: 'unknown' }], [picture], [])).toBeUndefined()
  expect(unreadBy([seeing], [{ kind: 'audio' }], [])).toEqual({ why: 'seeing does not read sounds.' })
  expect(unreadBy([seeing, blind], [picture], [])).toEqual({ why: 'blind does not read pictures: run `npm run senses`.' })
})

test('another model is offered only if it reads all attachments', () => {
  const hearing = { id: 'hearing', architecture: { input_modalities: ['text', 'audio'] } }
  const others = [{ id: 'unknown' }, blind, hearing, seeing]
  expect(unreadBy([blind], [picture, { kind: 'text' }], others)).toMatchObject({ instead: 'seeing' })
  expect(unreadBy([blind], [picture, { kind: 'audio' }], others)).not.toHaveProperty('instead')
})
