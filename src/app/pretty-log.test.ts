import { expect, test } from 'vitest'
import { prettyDestination } from './pretty-log.ts'

test('an entry becomes one short line', () => {
  const lines: string[] = []
  const time = new Date(2026, 0, 1, 12, 30, 1).getTime()
  const entry = {
    level: 30,
    time,
    pid: 1,
    hostname: 'h',
    msg: 'model is ready',
    requestId: 'req_1',
    model: 'm',
    contextLength: 8192,
  }
  prettyDestination({ write: (text) => lines.push(text) }).write(`${JSON.stringify(entry)}\n`)
  expect(lines).toEqual(['12:30:01 info  model is ready requestId=req_1 model=m contextLength=8192\n'])
})

test('what callers wrote is shown, and neither obeyed nor a line of its own', () => {
  const lines: string[] = []
  const entry = {
    level: 30,
    time: new Date(2026, 0, 1, 12, 30, 1).getTime(),
    msg: 'request ended',
    requestedModel: 'm\n12:30:01 error  forged\u001b[2J',
    sessionId: '\u009b2J\u2028\u202e',
    reasons: ['a\u0085b'],
  }
  prettyDestination({ write: (text) => lines.push(text) }).write(`${JSON.stringify(entry)}\n`)
  const facts = 'requestedModel=m\\n12:30:01 error  forged\\u001b[2J sessionId=\\u009b2J\\u2028\\u202e reasons=["a\\u0085b"]'
  expect(lines).toEqual([`12:30:01 info  request ended ${facts}\n`])
})
