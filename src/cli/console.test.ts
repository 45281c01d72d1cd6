import { expect, test } from 'vitest'
import { createLog } from '../app/log.ts'
import { logProgress } from './console.ts'

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
