import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createAnswerWriter } from './answer-writer.ts'

beforeEach(() => vi.stubEnv('NO_COLOR', undefined))
afterEach(() => vi.unstubAllEnvs())

/** `written` lists what was written, in order, with the name of the output. */
function setUp({ out, err }: { out: 'terminal' | 'file'; err: 'terminal' | 'file' }) {
  const written: string[] = []
  const output = (name: string, kind: string) => ({
    isTTY: kind === 'terminal',
    write: (text: string) => written.push(`${name} ${JSON.stringify(text)}`),
  })
  return { written, writer: createAnswerWriter({ out: output('out', out), err: output('err', err) }) }
}

test('on a terminal reasoning is shown, dimmed, above the answer', () => {
  const { written, writer } = setUp({ out: 'terminal', err: 'terminal' })
  writer.reasoning('Hm')
  writer.text('4')
  writer.text('2')
  writer.end()
  expect(written).toEqual(['err "\\u001b[2mHm\\u001b[22m"', 'err "\\n"', 'out "4"', 'out "2"', 'out "\\n"'])
})

test('reasoning without an answer ends its line', () => {
  const { written, writer } = setUp({ out: 'terminal', err: 'terminal' })
  writer.reasoning('Hm')
  writer.end()
  expect(written.at(-1)).toBe('err "\\n"')
})

test('NO_COLOR leaves reasoning undimmed', () => {
  vi.stubEnv('NO_COLOR', '1')
  const { written, writer } = setUp({ out: 'terminal', err: 'terminal' })
  writer.reasoning('Hm')
  expect(written).toEqual(['err "Hm"'])
})

test('in a file the answer is unchanged, even with reasoning in its middle', () => {
  const { written, writer } = setUp({ out: 'file', err: 'terminal' })
  writer.text('4')
  writer.reasoning('Hm')
  writer.text('2')
  writer.end()
  expect(written.filter((line) => line.startsWith('out'))).toEqual(['out "4"', 'out "2"', 'out "\\n"'])
})

test('without terminals only the answer is written, to standard output', () => {
  const { written, writer } = setUp({ out: 'file', err: 'file' })
  writer.reasoning('Hm')
  writer.text('42')
  writer.end()
  expect(written).toEqual(['out "42"', 'out "\\n"'])
})

test('an empty answer writes no line', () => {
  const { written, writer } = setUp({ out: 'terminal', err: 'terminal' })
  writer.end()
  expect(written).toEqual([])
})

test('a terminal obeys nothing that the model writes, and a file has it as it is', () => {
  for (const [out, text] of [
    ['terminal', 'a\\u001b[2J\n\tb'],
    ['file', 'a\u001b[2J\n\tb'],
  ] as const) {
    const { written, writer } = setUp({ out, err: 'terminal' })
    writer.reasoning('\u009b2J')
    writer.text('a\u001b[2J\n\tb')
    expect(written).toContain(`out ${JSON.stringify(text)}`)
    expect(JSON.parse(written[0]?.slice('err '.length) ?? '')).toContain('\\u009b2J')
  }
})
