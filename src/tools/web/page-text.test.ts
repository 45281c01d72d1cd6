import { expect, test } from 'vitest'
import { capped, decodePage, pageKind } from './page-text.ts'

test.each([
  ['text/html; charset=utf-8', '', 'html'],
  ['application/xhtml+xml', '', 'html'],
  ['text/plain', '<html>', 'text'],
  ['application/json', '{}', 'text'],
  ['application/ld+json', '{}', 'text'],
  ['application/atom+xml; charset=utf-8', '<feed/>', 'text'],
  ['application/pdf', '%PDF-1.7', undefined],
  ['image/png', '\x89PNG', undefined],
  [undefined, '<!DOCTYPE html><p>', 'html'],
  [undefined, 'just words', 'text'],
  ['application/octet-stream', 'PK\x03\x04\0\0', undefined],
])('a page of type %j with %j is %s', (contentType, start, kind) => {
  expect(pageKind(contentType, Buffer.from(start, 'latin1'))).toBe(kind)
})

test.each([
  ['the header', 'text/html; charset=windows-1252', Buffer.from('caf\xe9 \x80', 'latin1'), 'café €'],
  ['the header, in quotes', 'text/html; charset="shift_jis"', Buffer.from([0x93, 0xfa, 0x96, 0x7b]), '日本'],
  ['meta', 'text/html', Buffer.from('<meta charset=iso-8859-2>\xb3', 'latin1'), '<meta charset=iso-8859-2>ł'],
  ['meta with http-equiv', 'text/html', Buffer.from('<meta http-equiv=x content="a; charset=koi8-r">\xc1', 'latin1'), 'а'],
  ['its first bytes, above all', 'text/html; charset=windows-1252', Buffer.from('\xff\xfea\0b\0', 'latin1'), 'ab'],
  ['nothing: UTF-8', undefined, Buffer.from('日本'), '日本'],
  ['a name that no standard knows: UTF-8', 'text/html; charset=none-such', Buffer.from('é'), 'é'],
])('the encoding of a page is from %s', (_, contentType, bytes, text) => {
  expect(decodePage(contentType, bytes)).toContain(text)
})

test('a long text is its beginning, with a note, and no half of a character', () => {
  expect(capped('abc', 3)).toBe('abc')
  expect(capped('abc', 3, true)).toBe('abc\n\n(The page is longer; this is its beginning.)')
  expect(capped('ab😀cd', 3)).toBe('ab\n\n(The page is longer; these are its first 2 characters.)')
  expect(capped('ab😀cd', 4)).toBe('ab😀\n\n(The page is longer; these are its first 4 characters.)')
})
