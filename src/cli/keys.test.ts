import { expect, onTestFinished, test, vi } from 'vitest'
import type { MadeKeys } from '../app/keys/made-keys.ts'
import { listKeys, newKey, readExpiry } from './keys.ts'

const nowMs = Date.parse('2030-01-01T00:00:00Z')

test.each([
  ['30d', '2030-01-31T00:00:00.000Z'],
  ['12h', '2030-01-01T12:00:00.000Z'],
  ['90m', '2030-01-01T01:30:00.000Z'],
  ['2030-12-31', '2030-12-31T00:00:00.000Z'],
  ['2030-12-31T18:00:00+02:00', '2030-12-31T16:00:00.000Z'],
])('%s ends at %s', (text, end) => {
  expect(readExpiry(text, nowMs)).toBe(end)
})

test.each(['', '30', '30 days', '-1d', '1.5h', '2030-13-01', 'tomorrow', '9999999d'])("'%s' is not a time", (text) => {
  expect(() => readExpiry(text, nowMs)).toThrow(`--expires: '${text}' is not a time`)
})

test.each(['0d', '2029-12-31'])('%s has passed', (text) => {
  expect(() => readExpiry(text, nowMs)).toThrow('has passed; give a later time')
})

test.each(['anyone', 'key-d0d19f78', 'key-D0D19F78', '', 'of Anna', 'a'.repeat(65)])("no key is called '%s'", async (name) => {
  const place = { made: {} as MadeKeys, takenNames: ['admin'], groups: [] }
  await expect(newKey(place, { name })).rejects.toThrow(`--name: '${name}' cannot be the name of a key; give 1 to 64 letters`)
})

test('a key of the configuration keeps its name', async () => {
  const place = { made: {} as MadeKeys, takenNames: ['admin'], groups: [] }
  await expect(newKey(place, { name: 'admin' })).rejects.toThrow("a key of the configuration is called 'admin'")
})

test('an empty list says what makes a key', () => {
  const notes: string[] = []
  vi.spyOn(console, 'log').mockImplementation(() => undefined)
  vi.spyOn(console, 'error').mockImplementation((line) => void notes.push(String(line)))
  onTestFinished(() => void vi.restoreAllMocks())
  const none = { list: () => [] } as unknown as Parameters<typeof listKeys>[0]
  listKeys(none)
  expect(notes).toEqual(['no key was made here yet: `dragoman keys new` makes one'])
})
