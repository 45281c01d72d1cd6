import { expect, test } from 'vitest'
import { OutputTail } from '../../base/output-tail.ts'
import { causeOf } from './cause.ts'

/** As a process of llama.cpp's CUDA build writes it when it aborts (an H200 whose driver was too old), with other addresses. */
const aborted = [
  '/home/b/llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu:108: CUDA error',
  ...Array.from({ length: 60 }, (_, frame) => `/opt/bins/libggml-base.so(ggml_abort+0x15${frame})[0x7f020c14bf42]`),
  '/lib/x86_64-linux-gnu/libc.so.6(+0x129ecc)[0x7f5f8f329ecc]',
  '',
].join('\n')

test('the cause of an abort is its message, not the stack behind it, and a hint for CUDA', () => {
  const lines: string[] = []
  const tail = new OutputTail((line) => lines.push(line))
  tail.push(aborted)
  expect(causeOf(tail.lines)).toBe('ggml-cuda.cu:108: CUDA error; docs/gpu.md says what to do about errors of CUDA')
  // The log has all of it.
  expect(lines).toHaveLength(62)
})

test('the stack that a debugger writes is not a cause', () => {
  expect(causeOf(tailOf('GGML_ASSERT(x) failed\n#0  0x00007f in wait4 ()\n#1  0x00007f in main ()\n'))).toBe(
    'GGML_ASSERT(x) failed',
  )
})

test('without errors the cause is the last lines, and without lines it is empty', () => {
  expect(causeOf(tailOf('a\nb\nc\nd\n'))).toBe('b | c | d')
  expect(causeOf([])).toBe('')
})

function tailOf(text: string): readonly string[] {
  const tail = new OutputTail(() => undefined)
  tail.push(text)
  return tail.lines
}
