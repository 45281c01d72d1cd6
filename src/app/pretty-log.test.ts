import { expect, test } from 'vitest'
import { formatEntry, prettyDestination } from './pretty-log.ts'

test('an entry is one short line', () => {
  const time = new Date(2026, 0, 1, 12, 30, 1).getTime()
  const line = formatEntry({ level: 30, time, pid: 1, hostname: 'h', msg: 'model is ready', model: 'm', contextLength: 8192 })
  expect(line).toBe('12:30:01 info  model is ready model=m contextLength=8192')
})

test('each entry that pino writes becomes a line', () => {
  const lines: string[] = []
  prettyDestination({ write: (text) => lines.push(text) }).write('{"level":50,"time":0,"msg":"x"}\n')
  expect(lines).toEqual([expect.stringMatching(/^\d\d:\d\d:\d\d error x\n$/)])
})
