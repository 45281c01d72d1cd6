import type { CallToolResult } from '@modelcontextprotocol/client'
import { expect, test } from 'vitest'
import { failedCall, outcomeOf } from './outcome.ts'

test.each<[string, CallToolResult, string]>([
  [
    'texts',
    {
      content: [
        { type: 'text', text: 'one' },
        { type: 'text', text: 'two' },
      ],
    },
    'one\ntwo',
  ],
  [
    'audio',
    { content: [{ type: 'audio', data: 'AAA=', mimeType: 'audio/wav' }] },
    '(audio, audio/wav, 2 bytes: it is not shown to you)',
  ],
  [
    'a link',
    { content: [{ type: 'resource_link', name: 'R', uri: 'file:///r', description: 'what it is' }] },
    '(resource R: file:///r, what it is)',
  ],
  ['a text resource', { content: [{ type: 'resource', resource: { uri: 'a://b', text: 'words' } }] }, '(resource a://b)\nwords'],
  [
    'a binary resource',
    { content: [{ type: 'resource', resource: { uri: 'a://b', blob: 'AA==' } }] },
    '(resource a://b, binary, 1 bytes: it is not shown to you)',
  ],
  ['structured content alone', { content: [], structuredContent: { a: 1 } }, '{"a":1}'],
  [
    'structured content beside its text',
    { content: [{ type: 'text', text: '{"a": 1}' }], structuredContent: { a: 1 } },
    '{"a": 1}',
  ],
  ['nothing', { content: [] }, '(no output)'],
])('a result with %s', (_, result, text) => {
  expect(outcomeOf(result)).toEqual({ text, isError: false })
})

test('an image is mentioned, and there for models that see', () => {
  const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' } as const
  expect(outcomeOf({ content: [image] })).toEqual({
    text: '(image, image/png, 3 bytes)',
    isError: false,
    images: [{ base64: 'AAAA', mediaType: 'image/png' }],
  })
})

test('a result that is an error stays one', () => {
  expect(outcomeOf({ content: [{ type: 'text', text: 'no' }], isError: true })).toEqual({ text: 'no', isError: true })
})

test('long output is its beginning, however many parts it has', () => {
  const { text } = outcomeOf({ content: Array.from({ length: 100_000 }, () => ({ type: 'text', text: 'x'.repeat(100) })) })
  expect(text).toMatch(/^x{100}\n/)
  expect(text.length).toBeLessThan(8100)
  expect(text).toMatch(/\(The output is longer; these are its first 8000 characters\.\)$/)
})

test('a call that failed says why, with advice for the model', () => {
  expect(failedCall('it ended')).toMatchObject({ text: 'The tool failed: it ended', isError: true, advice: expect.any(String) })
})
