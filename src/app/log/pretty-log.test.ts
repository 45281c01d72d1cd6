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
    '12:30:01 info  POST /v1/messages 200 5 ms\n',
  ])
})

test('a request is one line, also one that its caller made wrong', () => {
  const failed = { requestId: 'a', code: 'invalid_value', param: 'top_p' }
  const ended = { requestId: 'a', method: 'POST', route: '/v1/chat/completions', status: 400, durationMs: 3, key: 'anyone' }
  const answered = { ...ended, requestId: 'b', status: 200, durationMs: 1234, key: 'guest' }
  const facts = { model: 'm', inputTokens: 12, outputTokens: 45, finishReason: 'length' }
  expect(
    shown(
      { msg: 'request failed', ...failed },
      { msg: 'request ended', ...ended },
      { msg: 'request ended', ...answered, ...facts },
    ),
  ).toEqual([
    '12:30:01 info  POST /v1/chat/completions 400 invalid_value (top_p) 3 ms\n',
    '12:30:01 info  POST /v1/chat/completions 200 m 12+45 tokens 1.2 s length key guest\n',
  ])
})

test('what the server failed at has a line of its own, and is coloured', () => {
  vi.stubEnv('NO_COLOR', '')
  const failed = { level: 40, requestId: 'a', code: 'overloaded', reason: 'full' }
  const ended = { requestId: 'a', method: 'POST', route: '/r', status: 503, durationMs: 3 }
  expect(shown({ msg: 'request failed', ...failed }, { msg: 'request ended', ...ended })).toEqual([
    '12:30:01 \u001B[33mwarn \u001B[39m request failed requestId=a code=overloaded reason=full\n',
    '12:30:01 info  \u001B[31mPOST /r 503 3 ms\u001B[39m\n',
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
