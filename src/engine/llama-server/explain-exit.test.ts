import { expect, test } from 'vitest'
import { explainExit } from './explain-exit.ts'

const explain = (description: string, ...lastLines: string[]) => explainExit({ binary: 'bin', description, lastLines })
const message = (description: string, ...lines: string[]) => {
  const failure = explain(description, ...lines)
  return failure.type === 'failed' ? failure.message : failure.type
}

test.each([
  [
    'a port that was taken is worth another try',
    "0.00.032.234 E srv         start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 1",
  ],
  ['whatever the words', 'listen: Address already in use'],
])('the reason for an exit is found in %s', (_name, line) => {
  expect(explain('exited with code 1', line, '0.00.032.367 E srv  llama_server: exiting due to HTTP server error')).toEqual({
    type: 'port-taken',
  })
})

test('for a missing program, the message names the setting', () => {
  expect(message('could not be started: spawn bin ENOENT')).toBe(
    'bin was not found: `dragoman runtime get` fetches a llama-server; or set `binary` to where yours is',
  )
})

test('a program without permission is reported', () => {
  expect(message('could not be started: spawn bin EACCES')).toContain('may not be run')
})

test('an argument that is not known is named', () => {
  expect(message('exited with code 1', 'error: invalid argument: --slots')).toContain('bin does not know the argument --slots')
})

test('errors are quoted without their prefix, and before what they led to', () => {
  const text = message(
    'exited with code 1',
    '0.00.000.458 I srv  llama_server: initializing ...',
    '0.00.033.043 E common_fit_params: encountered an error while trying to fit params',
    "0.00.033.085 E gguf_init_from_reader: invalid magic characters: 'garb', expected 'GGUF'",
    "0.00.033.169 E srv    load_model: failed to load model, '/m'",
  )
  expect(text).toBe(
    "bin exited with code 1: gguf_init_from_reader: invalid magic characters: 'garb', expected 'GGUF' | load_model: failed to load model, '/m'",
  )
})

test('without errors, the last lines are quoted; without lines, the message says so', () => {
  expect(message('exited with code 0', 'a', 'b', 'c', 'd')).toBe('bin exited with code 0: b | c | d')
  expect(message('killed by SIGSEGV')).toBe('bin killed by SIGSEGV and wrote nothing')
})
