import { expect, test } from 'vitest'
import { image } from '../../../test/support/parts.ts'
import { AppError } from '../../contract/errors.ts'
import { decodeDataUrl } from './data-url.ts'

function failureOf(url: string): AppError {
  try {
    decodeDataUrl(url, 'image', 'messages[0].url')
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
  throw new Error('the address was accepted')
}

test.each([
  ['data:image/png;base64,AA==', image('AA==')],
  ['data:image/jpeg;base64,', image('', 'image/jpeg')],
  ['DATA:image/png;base64,AA==', image('AA==')],
  ['data:Image/PNG;BASE64,AbCd', image('AbCd')],
  ['data:image/svg+xml;charset=utf-8;base64,AA==', image('AA==', 'image/svg+xml')],
])('%s is the bytes that it holds', (url, part) => {
  expect(decodeDataUrl(url, 'image', 'p')).toEqual(part)
})

test.each([['audio', 'audio/ogg'] as const, ['video', 'video/mp4'] as const])('%s is held in the same way', (kind, mediaType) => {
  expect(decodeDataUrl(`data:${mediaType};base64,AA==`, kind, 'p')).toEqual({
    type: 'media',
    kind,
    mediaType,
    source: { type: 'bytes', base64: 'AA==' },
  })
})

test.each([
  'https://x.example/y.png',
  'http://169.254.169.254/latest/meta-data',
  'HTTPS://x.example/data:image/png;base64,AA==',
  'file:///etc/passwd',
  '//x.example/y.png',
  ' data:image/png;base64,AA==',
  'y.png',
  '',
])('the address %j is not fetched, and the refusal says what to send', (url) => {
  const failure = failureOf(url)
  expect(failure).toMatchObject({ code: 'unsupported-field', param: 'messages[0].url' })
  expect(failure.message).toContain('data:image/...;base64,...')
})

test('an address is not repeated in full where it is long', () => {
  const { message } = failureOf(`https://x.example/${'a'.repeat(5000)}`)
  expect(message.length).toBeLessThan(300)
  expect(message).toContain('https://x.example/aaa')
})

test.each([
  ['has no comma', 'data:image/png;base64'],
  ['is not in base64', 'data:image/svg+xml,%3Csvg%3E'],
  ['is not in base64 at its end', 'data:image/png;base64;x=1,AA=='],
  ['has no media type', 'data:;base64,AA=='],
  ['is text', 'data:text/plain;base64,AA=='],
  ['is of another kind', 'data:audio/wav;base64,AA=='],
  ['holds what is not base64', 'data:image/png;base64,AA#='],
  ['holds white space', 'data:image/png;base64,AA A'],
  ['lacks a character', 'data:image/png;base64,AAAAA'],
  ['has padding in the middle', 'data:image/png;base64,AA==AAAA'],
  ['only begins like the kind', 'data:images/png;base64,AA=='],
])('a data URL that %s is an invalid request', (_, url) => {
  expect(failureOf(url)).toMatchObject({ code: 'invalid-request', param: 'messages[0].url' })
})
