import { expect, test } from 'vitest'
import { bytes } from '../../../test/support/parts.ts'
import { type MediaPart, type Prompt, plainChat } from '../../contract/request.ts'
import { LentMedia, withoutBytes } from './lent-media.ts'

const picture = (base64: string): MediaPart => ({ type: 'media', kind: 'image', source: bytes(base64, 'image/png') })
const promptOf = (...parts: readonly MediaPart[]): Prompt => ({
  ...plainChat,
  type: 'chat',
  messages: [
    { role: 'user', content: [...parts] },
    { role: 'tool', toolCallId: 'c', content: [...parts] },
    { role: 'assistant', parts: [{ type: 'tool-result', toolCallId: 'd', content: [...parts] }] },
  ],
})
const hashOf = ({ source }: MediaPart) => ('sha256' in source ? source.sha256 : '')

test('media are lent until the last request that has them has ended', async () => {
  const lent = new LentMedia()
  const [one, other] = [picture('AAAA'), picture('BBBB')]
  const first = lent.lend(promptOf(one, other))
  const second = lent.lend(promptOf(one))
  first()
  expect([lent.get(hashOf(one)), lent.get(hashOf(other))]).toEqual(['AAAA', undefined])
  second()
  expect(lent.get(hashOf(one))).toBeUndefined()
  await expect(lent.during(promptOf(one), async () => Promise.reject(lent.get(hashOf(one))))).rejects.toBe('AAAA')
  expect(lent.get(hashOf(one))).toBeUndefined()
})

test('a command has the hashes of media, and nothing of their bytes, also in results of tools', () => {
  const sent = JSON.stringify(withoutBytes(promptOf(picture('AAAA'))))
  expect(sent).not.toContain('AAAA')
  expect(sent.split(hashOf(picture('AAAA')))).toHaveLength(4)
})
