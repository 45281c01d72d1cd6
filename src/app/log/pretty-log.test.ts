import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { prettyDestination } from './pretty-log.ts'

beforeEach(() => vi.stubEnv('NO_COLOR', '1'))
afterEach(() => vi.unstubAllEnvs())

/** What a terminal shows of these entries. */
function shown(...entries: readonly Record<string, unknown>[]): string[] {
  const lines: string[] = []
  const destination = prettyDestination({ write: (text) => lines.push(text) })
  const time = new Date(2026, 0, 1, 12, 30, 1).getTime()
  for (const entry of entries) destination.write(`${JSON.stringify({ level: 30, time, pid: 1, hostname: 'h', ...entry })}\n`)
  return lines
}

test('an entry becomes one short line', () => {
  const lines = shown({ msg: 'request stopped', requestId: 'req_1', by: 'cancel' })
  expect(lines).toEqual(['12:30:01 info  request stopped requestId=req_1 by=cancel\n'])
})

test('an entry of many fields has those that fit a terminal', () => {
  const described = { contextLength: 8192, embeddingLength: 256, endTexts: ['<|im_end|>'], workerPid: 7 }
  const ended = { requestId: 'req_1', method: 'POST', route: '/v1/messages', status: 200, durationMs: 5, generationId: 'msg_1' }
  expect(shown({ msg: 'model is ready', model: 'm', ...described }, { msg: 'request ended', ...ended })).toEqual([
    '12:30:01 info  model is ready model=m contextLength=8192\n',
    '12:30:01 info  request ended method=POST route=/v1/messages status=200 durationMs=5\n',
  ])
})

test('the address that standard output names is not repeated', () => {
  expect(shown({ msg: 'Server listening at http://127.0.0.1:7411' })).toEqual([])
})

test('warnings and errors are coloured unless NO_COLOR is set', () => {
  expect(shown({ level: 40, msg: 'w' })).toEqual(['12:30:01 warn  w\n'])
  vi.stubEnv('NO_COLOR', '')
  expect(shown({ level: 40, msg: 'w' }, { level: 50, msg: 'e' }, { msg: 'i' })).toEqual([
    '12:30:01 \u001B[33mwarn \u001B[39m w\n',
    '12:30:01 \u001B[31merror\u001B[39m e\n',
    '12:30:01 info  i\n',
  ])
})

test('what callers wrote is shown, and neither obeyed nor a line of its own', () => {
  const lines: string[] = []
  const entry = {
    level: 30,
    time: new Date(2026, 0, 1, 12, 30, 1).getTime(),
    msg: 'request stopped',
    requestedModel: 'm\n12:30:01 error  forged\u001b[2J',
    sessionId: '\u009b2J\u2028\u202e',
    reasons: ['a\u0085b'],
  }
  prettyDestination({ write: (text) => lines.push(text) }).write(`${JSON.stringify(entry)}\n`)
  const facts = 'requestedModel=m\\n12:30:01 error  forged\\u001b[2J sessionId=\\u009b2J\\u2028\\u202e reasons=["a\\u0085b"]'
  expect(lines).toEqual([`12:30:01 info  request stopped ${facts}\n`])
})
