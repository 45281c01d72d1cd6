import type { FastifyRequest } from 'fastify'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { AppError } from '../../contract/errors.ts'
import { logFailure } from './failure-log.ts'

test.each<[string, AppError, object, boolean]>([
  [
    "a caller's error is an entry without its message",
    new AppError('invalid-request', 'secret'),
    { level: 30, code: 'c' },
    false,
  ],
  [
    'a failed upstream is an entry with the reason and its cause',
    new AppError('upstream-failed', 'it failed', { cause: new Error('read ECONNRESET') }),
    { level: 50, reason: 'it failed', cause: 'read ECONNRESET' },
    false,
  ],
  ['our own mistake has its stack', new AppError('internal', 'oh'), { level: 50, err: { message: 'oh' } }, true],
])('%s', (_, error, entry, hasStack) => {
  const lines: string[] = []
  const log = pino({}, { write: (line: string) => void lines.push(line) })
  logFailure({ id: 'r', log } as unknown as FastifyRequest, error, { what: 'request failed', code: 'c' })
  expect(lines).toHaveLength(1)
  expect(JSON.parse(lines[0] ?? '')).toMatchObject(entry)
  expect(lines[0]?.includes('"stack"')).toBe(hasStack)
  expect(lines[0]).not.toContain('secret')
})
