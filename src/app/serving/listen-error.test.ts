import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { AppError } from '../../contract/errors.ts'
import { explainListenError } from './listen-error.ts'

const settings = { host: 'h', port: 80 }

test.each([
  ['EADDRINUSE', 'listen', 'port 80 on h is in use'],
  ['EACCES', 'listen', 'no permission to listen on port 80'],
  ['EADDRNOTAVAIL', 'listen', 'h is not an address of this machine'],
  ['ENOTFOUND', 'getaddrinfo', "'h' cannot be resolved (ENOTFOUND)"],
  ['EAI_AGAIN', 'getaddrinfo', "'h' cannot be resolved (EAI_AGAIN)"],
  ['EAFNOSUPPORT', 'listen', 'listen EAFNOSUPPORT'],
])('%s becomes one line with advice', (code, syscall, words) => {
  const explained = explainListenError(Object.assign(new Error(`${syscall} ${code}`), { code, syscall }), settings)
  expect(explained).toMatchObject({ code: 'invalid-request', message: expect.stringContaining(words) })
  expect((explained as AppError).message).toMatch(/^.*; .*server\.(host or --host|port or --port)$/)
})

test('the advice about another port names its setting', () => {
  const error = Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE', syscall: 'listen' })
  const explained = explainListenError(error, { ...settings, setting: 'server.ollamaPort' })
  expect((explained as AppError).message).toContain('choose another port with server.ollamaPort')
})

test('an error of the operating system is recognized', async () => {
  // Reserved for documentation, so no machine has it.
  const host = '192.0.2.1'
  const error = await new Promise((resolve) => createServer().once('error', resolve).listen(0, host))
  expect(explainListenError(error, { host, port: 0 })).toBeInstanceOf(AppError)
})

test('another error is returned unchanged', () => {
  const mistake = new TypeError('x is not a function')
  expect(explainListenError(mistake, settings)).toBe(mistake)
})
