import { expect, test } from 'vitest'
import { textOfFile } from './utf8.ts'

test('a file in another encoding than UTF-8 is refused by its name', () => {
  expect(textOfFile(Buffer.from('größer'))).toBe('größer')
  expect(() => textOfFile(Buffer.from('größer', 'latin1'))).toThrow('it is not UTF-8: save it as UTF-8')
  expect(() => textOfFile(Buffer.from('\ufeffmodels: []', 'utf16le'))).toThrow('it is UTF-16: save it as UTF-8')
  expect(() => textOfFile(Buffer.from('\ufeffmodels: []', 'utf16le').swap16())).toThrow('it is UTF-16: save it as UTF-8')
})
