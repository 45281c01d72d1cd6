import { describe, expect, test } from 'vitest'
import { MessageLines } from './message-lines.ts'

/** What is sent after each group of lines that came together. */
function sent(...groups: readonly (readonly string[])[]) {
  const lines = new MessageLines()
  return groups.map((group) => {
    for (const line of group) lines.add(line)
    return lines.take()
  })
}

const plain = (text: string) => ({ text, isQuoted: false })
const quoted = (text: string) => ({ text, isQuoted: true })

describe('lines of a terminal', () => {
  test('one line is one message', () => {
    expect(sent(['hello'], ['again'])).toEqual([plain('hello'), plain('again')])
  })

  test('lines that come together are one message, with their indentation and empty lines', () => {
    expect(sent(['if x:', '  y()', '', 'z()'])).toEqual([plain('if x:\n  y()\n\nz()')])
  })

  test('triple quotes hold lines back until they are closed', () => {
    expect(sent(['"""first'], ['second'], ['third"""'])).toEqual([undefined, undefined, quoted('first\nsecond\nthird')])
  })

  test('a text that is pasted with its triple quotes is one message without them', () => {
    expect(sent(['"""', 'line 1', '/line 2', '"""'])).toEqual([quoted('line 1\n/line 2')])
  })

  test('code that begins with a docstring is a message as it stands', () => {
    const code = ['"""What it does."""', 'import os']
    expect(sent(code)).toEqual([plain(code.join('\n'))])
  })

  test('nothing is sent before a line came', () => {
    expect(sent([])).toEqual([undefined])
  })
})
