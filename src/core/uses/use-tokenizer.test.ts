import { expect, test, vi } from 'vitest'
import { contextOf } from '../../../test/support/http/context.ts'
import { fine, knownEngine, never, upstream } from '../../../test/support/upstream/remote-engine.ts'
import type { MediaReader } from '../../contract/media.ts'
import { plainChat } from '../../contract/request.ts'
import { tokenize } from './use-tokenizer.ts'

test('media that have no tokens are refused before they are read', async () => {
  const image = { type: 'media', kind: 'image', source: { type: 'url', url: 'https://example.com/a.png' } } as const
  const prompt = { type: 'chat', ...plainChat, messages: [{ role: 'user', content: [image] }] } as const
  const media = { check: () => undefined, read: vi.fn<MediaReader['read']>() }
  const engine = await knownEngine([await upstream(fine)])
  const request = { prompt, reasoning: {}, addBos: true, parseSpecial: true } as const
  const tokens = tokenize({ media }, request, contextOf(engine, { signal: never }))
  await expect(tokens).rejects.toMatchObject({ code: 'unsupported-field', message: expect.stringContaining('no tokens') })
  expect(media.read).not.toHaveBeenCalled()
})
