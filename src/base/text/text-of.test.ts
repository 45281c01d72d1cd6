import { expect, test } from 'vitest'
import { textOf, writtenText } from './text-of.ts'

async function* pieces(count: number, onPiece: () => void = () => undefined) {
  for (let index = 0; index < count; index += 1) {
    onPiece()
    yield Buffer.from('äö').subarray(index % 2 === 0 ? 0 : 1, index % 2 === 0 ? 1 : 4)
  }
}

async function* once(content: Buffer) {
  yield content
}

test('characters that pieces split are whole', async () => {
  expect(await textOf(pieces(2), { what: 'it', mostBytes: 4 })).toBe('äö')
})

test('what is longer is not read to its end', async () => {
  let read = 0
  const endless = pieces(Infinity, () => {
    read += 1
  })
  await expect(textOf(endless, { what: 'the list', mostBytes: 100 })).rejects.toThrow('the list has more than 100 bytes')
  expect(read).toBeLessThan(60)
})

test('a file is read without its mark, and refused in another encoding', async () => {
  const read = (content: Buffer) => writtenText(once(content), { what: 'it', mostBytes: 100 })
  expect(await read(Buffer.from('\ufeffäö'))).toBe('äö')
  await expect(read(Buffer.from('\ufeffäö', 'utf16le'))).rejects.toThrow('it is UTF-16: save it as UTF-8')
  await expect(read(Buffer.alloc(101))).rejects.toThrow('it has more than 100 bytes')
})
