import { expect, test } from 'vitest'
import type { MediaReference } from '../contract/media.ts'
import { allScopes } from '../contract/principal.ts'
import { createMediaReader, type MediaOptions } from './reader.ts'

const url = (text: string): MediaReference => ({ type: 'url', url: text })
const none: MediaOptions = {}
const some: MediaOptions = { urls: { allowed: [], domains: ['example.com', '127.0.0.1', '[::1]', '2130706433'] } }

test.each<[string, MediaReference, MediaOptions]>([
  ['another scheme', url('gopher://example.com/a'), some],
  ['a word', url('picture'), some],
  ['no URL', url('http://[example.com'), some],
  ['credentials', url('https://user:pass@example.com/a'), some],
  ['a host that is not allowed', url('https://example.org/a'), some],
  ['a private address', url('http://127.0.0.1/a'), some],
  ['a private address of six', url('http://[::1]/a'), some],
  ['a private address as a number', url('http://2130706433/a'), some],
  ['a URL where none is fetched', url('https://example.com/a'), none],
  ['a file of the server', url('file:///etc/passwd'), none],
  ['the path of one', url('/etc/passwd'), none],
  ['a data URL without data', url('data:image/png;base64'), none],
  ['an upload where nothing is stored', { type: 'file', id: 'file-1' }, none],
])('%s is refused in the same words before anything is read', async (_name, source, options) => {
  const reader = createMediaReader(options)
  const items = [{ kind: 'image', source, at: ['here'] }] as const
  const reading = reader.read(items, { principal: { id: 'one', scopes: allScopes }, signal: new AbortController().signal })
  const error: Error = await reading.then(
    () => expect.unreachable(),
    (refusal) => refusal,
  )
  expect(() => reader.check(items)).toThrow(error.message)
})

test.each([url('https://example.com/a'), url('data:image/png;base64,AA=='), { type: 'base64', base64: '' } as const])(
  'what may be read passes: %o',
  (source) => {
    expect(() => createMediaReader(some).check([{ kind: 'image', source, at: ['here'] }])).not.toThrow()
  },
)

test('more media than a request may have are refused', () => {
  const item = { kind: 'image', source: url('data:,a'), at: ['here'] } as const
  const reader = createMediaReader({ limits: { maxItems: 1 } })
  expect(() => reader.check([item, item])).toThrow('one of 2 media')
})
