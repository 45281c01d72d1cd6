import { describe, expect, test, vi } from 'vitest'
import { encodeFields, encodeServerTiming } from './reply-headers.ts'

describe('the header x-dragoman-ignored', () => {
  test.each([
    [[], ''],
    [['user', 'top_a'], 'user, top_a'],
    [['messages[].content[].x'], 'messages[].content[].x'],
    [['a b', 'ü', 'x,y', '100%', '\r\n'], 'a%20b, %C3%BC, x%2Cy, 100%25, %0D%0A'],
    [['\ud800'], '%EF%BF%BD'],
  ])('%j becomes %j', (fields, value) => {
    expect(encodeFields(fields)).toBe(value)
  })

  test('stays short, with a mark for more', () => {
    const value = encodeFields(Array.from({ length: 5000 }, (_, index) => `field_${index}`))
    expect(value.length).toBeLessThan(1100)
    expect(value).toMatch(/^field_0, .*, field_\d+, \.\.\.$/)
    expect(encodeFields(['x'.repeat(5000)])).toBe('...')
    expect(encodeFields(['x'.repeat(1024)])).toBe('x'.repeat(1024))
    expect(encodeFields(['x'.repeat(1025)])).toBe('...')
  })

  test('of a name that is too long, only the part that could fit is encoded', () => {
    const encode = vi.spyOn(Buffer, 'from')
    expect(encodeFields(['é'.repeat(5000)])).toBe('...')
    expect(encode.mock.calls.length).toBeLessThan(1100)
    encode.mockRestore()
  })
})

test('server-timing has all known durations, including zero', () => {
  expect(encodeServerTiming({ queueMs: 0, prefillMs: 12, firstTokenMs: 13 })).toBe('queue;dur=0, prefill;dur=12, ttft;dur=13')
  expect(encodeServerTiming({})).toBe('')
})
