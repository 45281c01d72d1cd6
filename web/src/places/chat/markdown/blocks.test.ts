import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BlockSplitter } from './blocks.ts'

function split(text: string, pieces = [text]): { closed: string[]; open: string } {
  const splitter = new BlockSplitter()
  for (const piece of pieces) splitter.append(piece)
  return { closed: splitter.closed, open: splitter.open }
}

test.each([
  ['paragraphs end at empty lines', 'one\ntwo\n\nthree\n\nfour\n', ['one\ntwo\n\n', 'three\n\n'], 'four\n'],
  ['a fence has empty lines', '```js\na\n\nb\n```\nafter', ['```js\na\n\nb\n```\n'], 'after'],
  ['a fence ends the paragraph before it', 'text\n```\ncode', ['text\n'], '```\ncode'],
  ['a longer fence is not ended by a shorter one', '````\n```\n````\n', ['````\n```\n````\n'], ''],
  ['a list goes on after an empty line', '- a\n\n- b\n\ntext\n', ['- a\n\n- b\n\n'], 'text\n'],
  ['what is indented belongs to what is before', '1. a\n\n   more\n\n2. b', [], '1. a\n\n   more\n\n2. b'],
  ['a fence in a list stays in it', '- a\n  ```\n  x\n\n  y\n  ```\n- b\n', [], '- a\n  ```\n  x\n\n  y\n  ```\n- b\n'],
  ['a formula has empty lines', '$$\na\n\nb\n$$\n\nafter\n', ['$$\na\n\nb\n$$\n\n'], 'after\n'],
  ['a formula in brackets, too', '\\[\na\n\nb\n\\].\n\nafter\n', ['\\[\na\n\nb\n\\].\n\n'], 'after\n'],
  ['a formula of one line', '\\[ a \\]\n\nafter\n', ['\\[ a \\]\n\n'], 'after\n'],
  ['a formula without an end', `\\[\n\n${'a\n'.repeat(59)}\nb\n`, [`\\[\n\n${'a\n'.repeat(59)}\n`], 'b\n'],
])('%s', (_name, text, closed, open) => {
  expect(split(text)).toEqual({ closed, open })
})

test('the next block begins with the first characters that do not belong to the one before', () => {
  expect(split('text\n\nn')).toEqual({ closed: ['text\n\n'], open: 'n' })
  expect(split('1. item\n\n2')).toEqual({ closed: [], open: '1. item\n\n2' })
  expect(split('1. item\n\n2x')).toEqual({ closed: ['1. item\n\n'], open: '2x' })
  expect(split('- item\n\n ')).toEqual({ closed: [], open: '- item\n\n ' })
})

test('a long table becomes several with the same head', () => {
  const head = '| a | b |\n|--|--:|\n'
  const row = `| ${'x'.repeat(90)} | 2 |\n`
  const part = head + row.repeat(41)
  const { closed, open } = split(`${head}${row.repeat(90)}\nafter`)
  expect(closed).toEqual([part, part, `${head}${row.repeat(8)}\n`])
  expect(open).toBe('after')
  expect(split(`${head}${row.repeat(41)}| 3`)).toEqual({ closed: [part], open: `${head}| 3` })
})

test('a long head of a table is not repeated', () => {
  const table = `|${'a|'.repeat(3000)}\n|${'-|'.repeat(3000)}\n${'|b|\n'.repeat(3000)}`
  expect(split(table)).toEqual({ closed: [], open: table })
})

test('rows of a table are not repeated as its head', () => {
  const table = `| a |\n|--|\n${'| 1 |\n'.repeat(9)}\n  indented\n${'more\n'.repeat(1000)}`
  expect(split(table)).toEqual({ closed: [], open: table })
})

test('a long list becomes several, each of complete items', () => {
  const item = `7. ${'x'.repeat(990)}\n\n   - more\n\n`
  expect(split(item.repeat(9))).toEqual({ closed: [item.repeat(4), item.repeat(4)], open: item })
  const tight = `- ${'x'.repeat(997)}\n`
  expect(split(`These:\n${tight.repeat(9)}`)).toEqual({
    closed: [`These:\n${tight.repeat(4)}`, tight.repeat(4)],
    open: tight,
  })
})

test.each([
  ['pipes, and dashes that are no delimiters', `${'|'.repeat(20_000)}\n${'-'.repeat(20_000)}x\n`.repeat(3)],
  ['a long fence', `${'~'.repeat(500_000)}\n${'~x\n'.repeat(20_000)}`],
  ['short lines of one block', 'x\n'.repeat(200_000)],
])('%s are split without a search that grows with the square of their length', (_name, text) => {
  expect(split(text)).toEqual({ closed: [], open: text })
})

test('pieces make the same blocks as the whole, which lose no character of a line', () => {
  const line = fc.constantFrom('text', '', '```', '~~~', '- item', '1. item', '  more', '| a | b |', '# head', '$$', '\\[')
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.nat(40)), (lines, cuts) => {
      const text = lines.join('\n')
      const places = [0, ...cuts.filter((cut) => cut < text.length).sort((a, b) => a - b), text.length]
      const pieces = places.slice(1).map((end, index) => text.slice(places[index], end))
      const whole = split(text)
      expect(split(text, pieces)).toEqual(whole)
      expect((whole.closed.join('') + whole.open).replaceAll('\n', '')).toBe(text.replaceAll('\n', ''))
    }),
  )
})
