import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { listenOnLoopback } from '../../test/support/upstream/loopback.ts'
import { fileReason, networkReason } from './failure-reason.ts'

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  )
}

test.each([
  ['/nonexistent/file', 'there is no such file'],
  ['/', 'this is a folder'],
])('a file that cannot be read is explained in plain words: %s', async (path, reason) => {
  expect(fileReason(await failureOf(readFile(path)))).toBe(reason)
})

test('a server without TLS is called that', async () => {
  const { origin, close } = await listenOnLoopback((_, response) => response.end())
  const failure = await failureOf(fetch(origin.replace('http:', 'https:')))
  await close()
  expect(networkReason(failure)).toBe('it does not speak TLS; try http://')
})

test.each<[string, unknown, string]>([
  ['the message of the cause', new TypeError('fetch failed', { cause: new Error('read ECONNRESET') }), 'read ECONNRESET'],
  [
    'the code without a message',
    new Error('', { cause: Object.assign(new AggregateError([], ''), { code: 'ECONNREFUSED' }) }),
    'ECONNREFUSED',
  ],
  ['its own message without a cause', new Error('ended'), 'ended'],
])('a network failure says %s', (_, error, reason) => {
  expect(networkReason(error)).toBe(reason)
})
