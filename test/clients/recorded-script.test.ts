import { expect, test } from 'vitest'
import { answerTo, diffTurn } from '../../src/check/replay-diff.ts'
import { inOrder, type RecordedTurn, recordedTurn } from '../../src/check/script.ts'
import type { Turn } from '../../src/check/turn.ts'
import { type ScriptedTurn, startScripted } from '../../src/testing.ts'

const script: readonly ScriptedTurn[] = [
  { result: '(\\d+) degrees', say: 'It has $1 degrees (at last).' },
  { match: 'weather', calls: [{ name: 'get_weather', arguments: { city: 'Oslo' } }] },
  { say: 'I cost $1.' },
]
const parameters = { type: 'object', properties: { city: { type: 'string' } } }
const functions = [{ type: 'function', function: { name: 'get_weather', parameters } }]
const question = { role: 'user', content: 'What is the weather (in Oslo)?' }
const call = { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{}' } }
const called = { role: 'assistant', content: null, tool_calls: [call] }

const turns: readonly Turn[] = [
  { path: '/v1/chat/completions', body: { model: 'm', messages: [question], tools: functions, stream: true } },
  {
    path: '/v1/chat/completions',
    body: {
      model: 'm',
      messages: [question, called, { role: 'tool', tool_call_id: 'call_1', content: '7 degrees' }],
      tools: functions,
    },
  },
  {
    path: '/v1/messages',
    body: { model: 'm', messages: [question], max_tokens: 99, tools: [{ name: 'get_weather', input_schema: parameters }] },
  },
  { path: '/v1/responses', body: { model: 'm', input: 'Hello.' } },
  { path: '/api/chat', body: { model: 'm', messages: [{ role: 'user', content: 'Goodbye.' }] } },
]

test('a captured session becomes a script that answers it as the model has', async () => {
  await using model = await startScripted(script)
  const address = { url: model.url }
  const recorded: RecordedTurn[] = []
  for (const turn of turns) {
    const found = recordedTurn(turn.body, await answerTo(turn, { address }))
    if (found !== undefined) recorded.push(found)
  }
  expect(recorded).toHaveLength(turns.length)
  expect(recorded[1]).toEqual({ result: '^7 degrees$', say: 'It has 7 degrees (at last).' })
  await using copy = await startScripted(inOrder(recorded))
  for (const turn of turns) {
    const { before, after, changes } = await diffTurn(turn, { before: { address }, after: { address: { url: copy.url } } })
    expect({ changes, text: after.text, calls: after.calls }).toEqual({ changes: [], text: before.text, calls: before.calls })
  }
})
