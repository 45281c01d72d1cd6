import { expect, test } from 'vitest'
import { runProgram } from './run-program.ts'

const signal = new AbortController().signal

test('of what a program writes to its standard error without end, the start is the reason', async () => {
  const script = "process.stderr.write('broken' + 'x'.repeat(4e6), () => process.exit(3))"
  const run = { command: process.execPath, args: ['-e', script], input: Buffer.alloc(0), maxOutputBytes: 1000, timeoutMs: 60_000 }
  const failure: unknown = await runProgram(run, signal).catch((error: unknown) => error)
  expect(failure).toMatchObject({ reason: 'failed', message: `broken${'x'.repeat(1994)}` })
})

test('a program that is there and cannot start is not a failure of what it was to convert', async () => {
  const run = { command: import.meta.dirname, args: [], input: Buffer.alloc(0), maxOutputBytes: 1000, timeoutMs: 60_000 }
  await expect(runProgram(run, signal)).rejects.toMatchObject({ name: 'Error', code: 'EACCES' })
  await expect(runProgram({ ...run, command: '/no/such/program' }, signal)).rejects.toMatchObject({ reason: 'not-found' })
})
