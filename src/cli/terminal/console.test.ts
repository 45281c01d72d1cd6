import { expect, test } from 'vitest'
import { createLog } from '../../app/log/log.ts'
import { AppError } from '../../contract/errors.ts'
import { logProgress, reportServeFailure } from './console.ts'

test('without a terminal, notes and downloads are entries of the log', () => {
  const lines: string[] = []
  const log = createLog({ level: 'info', destination: { write: (line: string) => void lines.push(line) } })
  let nowMs = 0
  const progress = logProgress(log, () => nowMs)
  progress.note('\nm is ready. Try it:\n\n  curl …\n')
  for (const doneBytes of [0, 1, 2]) progress.update('fetching m', doneBytes, 10)
  nowMs = 6000
  progress.update('fetching m', 5, 10)
  progress.update('fetching m', 10, 10)
  progress.end()
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { msg: 'm is ready. Try it:\n\n  curl …' },
    { msg: 'fetching m', doneBytes: 0, totalBytes: 10 },
    { msg: 'fetching m', doneBytes: 5 },
    { msg: 'fetching m', doneBytes: 10 },
  ])
})

test.each<[string, unknown, object]>([
  [
    'with its code, without a stack',
    new AppError('invalid-request', 'no\nway'),
    { level: 60, code: 'invalid-request', msg: 'no\nway' },
  ],
  ['with its stack, where it is unexpected', new Error('oh'), { level: 60, msg: 'the server failed', err: { message: 'oh' } }],
])('without a terminal, a server that cannot start says so in one entry of the log, %s', (_, error, entry) => {
  const lines: string[] = []
  reportServeFailure(error, createLog({ level: 'fatal', destination: { write: (line: string) => void lines.push(line) } }))
  expect(lines).toHaveLength(1)
  const written = JSON.parse(lines[0] ?? '')
  expect(written).toMatchObject(entry)
  expect(written.err?.stack === undefined).toBe(error instanceof AppError)
})
