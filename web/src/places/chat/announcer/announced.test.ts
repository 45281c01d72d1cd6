import { expect, test } from 'vitest'
import { announcedEnd } from './announced.ts'

test.each([
  [{ state: 'done', finish: 'stop' }, 'The answer is complete.'],
  [{ state: 'done', finish: 'length' }, 'The answer was cut off at a limit.'],
  [{ state: 'done', finish: 'tool_calls' }, 'The model waits for the results of its calls.'],
  [{ state: 'stopped', finish: 'stop' }, 'The answer was stopped.'],
  [{ state: 'broken' }, 'The connection to the server ended before the answer did.'],
  [{ state: 'failed', problem: 'no memory' }, 'The answer failed: no memory'],
  // The view was left: it goes on.
  [{ state: 'running' }, ''],
] as const)('who cannot see that an answer is %j hears: %s', (end, words) => {
  expect(announcedEnd({ id: 'a', role: 'assistant', text: '', atMs: 0, ...end })).toBe(words)
})
