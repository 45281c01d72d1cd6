import { PassThrough } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { OutputTail } from './output-tail.ts'

test('a line of one stream stays whole while the other writes', async () => {
  const seen: string[] = []
  const tail = new OutputTail((line) => seen.push(line))
  const [output, errors] = [new PassThrough(), new PassThrough()]
  tail.read(output, errors)
  for (const [stream, text] of [
    [output, 'loading '],
    [errors, 'out of '],
    [output, 'tensors\n'],
    [errors, 'memory\r\n'],
    [output, 'and then'],
  ] as const) {
    stream.write(text)
    await nextTurn()
  }
  expect(seen).toEqual(['loading tensors', 'out of memory'])
  expect(tail.lines).toEqual(['loading tensors', 'out of memory', 'and then'])
})

test('the last 40 lines are kept, the first 500 characters of each', () => {
  const tail = new OutputTail(() => undefined)
  tail.push(Array.from({ length: 50 }, (_, index) => `${index} ${'x'.repeat(600)}\n`).join(''))
  expect(tail.lines).toHaveLength(40)
  expect(tail.lines[0]).toMatch(/^10 x+$/)
  expect(new Set(tail.lines.map(({ length }) => length))).toEqual(new Set([500]))
})

test('of a line that does not end, its first 500 characters are kept', () => {
  const seen: string[] = []
  const tail = new OutputTail((line) => seen.push(line))
  for (let pieces = 0; pieces < 100; pieces += 1) tail.push('x'.repeat(100_000))
  expect(tail.lines).toEqual(['x'.repeat(500)])
  tail.push('\nnext\n')
  expect(seen).toEqual(['x'.repeat(500), 'next'])
})
