import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createAnswerWriter } from './answer-writer.ts'

beforeEach(() => vi.stubEnv('NO_COLOR', undefined))
afterEach(() => vi.unstubAllEnvs())

/** What was written, in order, and where. */
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

test('reasoning that comes to nothing ends its line', () => {
  const { written, writer } = setUp({ out: 'terminal', err: 'terminal' })
  writer.reasoning('Hm')
  writer.end()
  expect(written.at(-1)).toBe('err "\\n"')
})

test('NO_COLOR leaves it as it is', () => {
  vi.stubEnv('NO_COLOR', '1')
  const { written, writer } = setUp({ out: 'terminal', err: 'terminal' })
  writer.reasoning('Hm')
  expect(written).toEqual(['err "Hm"'])
})

test('in a file the answer stays as it was written, also around reasoning in its middle', () => {
  const { written, writer } = setUp({ out: 'file', err: 'terminal' })
  writer.text('4')
  writer.reasoning('Hm')
  writer.text('2')
  writer.end()
  expect(written.filter((line) => line.startsWith('out'))).toEqual(['out "4"', 'out "2"', 'out "\\n"'])
})

test('elsewhere there is nothing but the answer, on standard output', () => {
  const { written, writer } = setUp({ out: 'file', err: 'file' })
  writer.reasoning('Hm')
  writer.text('42')
  writer.end()
  expect(written).toEqual(['out "42"', 'out "\\n"'])
})

test('an answer without a word is no line', () => {
  const { written, writer } = setUp({ out: 'terminal', err: 'terminal' })
  writer.end()
  expect(written).toEqual([])
})
