import { expect, test } from 'vitest'
import { bodyText, RawJson } from './raw-json.ts'

test('a body has the text of its raw values', () => {
  const raw = '{"id": 12345678901234567890, "text": "$1 \\" raw-0"}'
  const json = bodyText({ first: 'a', input: new RawJson(raw), list: [new RawJson('{}')] })
  expect(json).toBe(`{"first":"a","input":${raw},"list":[{}]}`)
})

test('a body without any is plain JSON', () => {
  expect(bodyText({ a: [1, 'raw-0'] })).toBe('{"a":[1,"raw-0"]}')
})
