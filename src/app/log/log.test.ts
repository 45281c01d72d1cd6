import { expect, test } from 'vitest'
import { AppError } from '../../contract/errors.ts'
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

test('a line has no character that a terminal obeys, and says the same', () => {
  const { lines, log } = capture()
  const model = 'm\u001b]0;x\u0007\u0085\u009b31m\u2028\u202e'
  log.info({ model }, `model ${model}`)
  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatch(/^[\x20-\x7e]+\n$/)
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ model, msg: `model ${model}` })
})

test('a silent log writes nothing', () => {
  const { lines, log } = capture('silent')
  log.fatal('x')
  expect(lines).toEqual([])
})
