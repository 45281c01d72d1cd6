import { expect, test } from 'vitest'
import { neutralRecording } from './record/neutral.ts'
import { moreFolder, ownFolder, type Recording, readRecordings } from './recording.ts'

const sent = (more: Partial<Recording>): Recording => ({
  client: 'a client',
  version: '1.0.0',
  how: 'a call',
  method: 'POST',
  path: '/v1/chat/completions',
  headers: {},
  body: null,
  ...more,
})
const long = 'Words of the author. '.repeat(30)

test.each([
  ['a short text stays', { content: 'How is the weather in Oslo?' }, { content: 'How is the weather in Oslo?' }],
  [
    'a long one says how long it was',
    { content: long },
    { content: expect.stringMatching(/^\[630 characters\] This neutral text .{160}/) },
  ],
  [
    'one between them keeps its length',
    { content: long.slice(0, 60) },
    { content: expect.stringMatching(/^This neutral text .{42}$/) },
  ],
  ['a description of a client’s own, however short', { description: 'Reads a file' }, { description: 'This neutral' }],
  ['a description of ours stays', { description: 'The weather of a city.' }, { description: 'The weather of a city.' }],
  [
    'texts in arguments of calls',
    { arguments: JSON.stringify({ a: long, b: 1 }) },
    { arguments: expect.stringMatching(/^\{"a":"\[630 .*","b":1\}$/) },
  ],
  ['a grammar stays, which has to work', { definition: `start: "${long}"` }, { definition: `start: "${long}"` }],
  ['a UUID', { id: '0b2f4f0e-9c3e-4d2a-8f00-1a2b3c4d5e6f' }, { id: '00000000-0000-0000-0000-000000000000' }],
  [
    'equal ids stay equal, and others different',
    [{ id: 'call_a1b2c3d4e5f6' }, { id: 'call_ffff00001111' }, { tool_call_id: 'call_a1b2c3d4e5f6' }],
    [
      { id: `call_${'1'.padStart(24, '0')}` },
      { id: `call_${'2'.padStart(24, '0')}` },
      { tool_call_id: `call_${'1'.padStart(24, '0')}` },
    ],
  ],
  ['an id of a call’s id', { id: 'fc_call_a1b2c3d4e5f6' }, { id: `fc_call_${'1'.padStart(24, '0')}` }],
  ['an id with a UUID', { id: 'msg_0b2f4f0e-9c3e-4d2a-8f00-1a2b3c4d5e6f' }, { id: `msg_${'1'.padStart(24, '0')}` }],
  ['a time', { started: '1795737398746' }, { started: '1700000000000' }],
  ['names of the machine', { cwd: '/home/someone/work on host7' }, { cwd: '/home/user/work on machine' }],
])('%s', (_, body, neutral) => {
  const names = { '/home/someone': '/home/user', host7: 'machine' }
  const once = neutralRecording(sent({ body }), names)
  expect(once.body).toEqual(neutral)
  expect(neutralRecording(once)).toEqual(once)
})

test('headers of one connection are left out', () => {
  const headers = { host: 'localhost:1', 'content-length': '3', 'user-agent': 'a/1', traceparent: '00-1' }
  expect(neutralRecording(sent({ headers })).headers).toEqual({ 'user-agent': 'a/1' })
})

test.each([...readRecordings(ownFolder), ...readRecordings(moreFolder)])('%s has neutral texts', (_, recording) => {
  expect(neutralRecording(recording)).toEqual(recording)
})
