import { expect, test } from 'vitest'
import { AppError } from '../contract/errors.ts'
import { createLog } from './log.ts'

function capture(level: 'info' | 'silent' = 'info') {
  const lines: string[] = []
  const log = createLog({ level, destination: { write: (line: string) => void lines.push(line) } })
  return { lines, log }
}

test('keys in headers are redacted wherever the headers are logged', () => {
  const { lines, log } = capture()
  const headers = { authorization: 'Bearer secret', 'x-api-key': 'secret', cookie: 'secret', host: 'localhost' }
  log.info(headers)
  log.info({ headers })
  log.info({ request: { headers } })
  expect(lines).toHaveLength(3)
  expect(lines.join('')).not.toContain('secret')
  expect(lines.join('')).toContain('localhost')
})

test('an error is logged with its cause', () => {
  const { lines, log } = capture()
  log.error({ err: new AppError('internal', 'outer', { cause: new TypeError('inner') }) })
  expect(lines[0]).toContain('inner')
})

test('a silent log writes nothing', () => {
  const { lines, log } = capture('silent')
  log.fatal('x')
  expect(lines).toEqual([])
})
