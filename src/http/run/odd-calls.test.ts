import { expect, test } from 'vitest'
import { openTestServer } from '../../../test/support/http/test-server.ts'
import { createFakeEngine } from '../../engine/fake/engine.ts'

const tools = [
  { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: { a: { type: 'string' } } } } },
]

function ask(script: object, fields: object = {}) {
  const server = openTestServer({ engine: createFakeEngine({ script: 'from-request', toolFormat: 'hermes' }) })
  const messages = [{ role: 'user', content: JSON.stringify(script) }]
  const payload = { model: 'default', messages, tools, ...fields }
  const ended = () => server.logLines.map((line) => JSON.parse(line)).find(({ msg }) => msg === 'request ended')
  return { reply: server.app.inject({ method: 'POST', url: '/v1/chat/completions', payload }), ended }
}

const call = (written: string) => ({ raw: `<tool_call>{"name": "f", "arguments": ${written}}</tool_call>` })

test.each([
  ["{'a': 'x'}", 'repaired'],
  ['[1]', 'unparseable'],
])('a call with the arguments %s is marked as %s, in a header and in the log', async (written, state) => {
  const { reply, ended } = ask(call(written))
  const { headers, json } = await reply
  const [{ id }] = json().choices[0].message.tool_calls
  expect(headers['x-dragoman-calls']).toBe(`${id};state=${state}`)
  expect(ended().calls).toBe(`${id};state=${state}`)
})

test('a stream has begun by then: the log has them', async () => {
  const { reply, ended } = ask(call("{'a': 'x'}"), { stream: true })
  expect((await reply).headers).not.toHaveProperty('x-dragoman-calls')
  expect(ended().calls).toMatch(/;state=repaired$/)
})

test('a call as it should be is not marked', async () => {
  const { reply, ended } = ask(call('{"a": "x"}'))
  expect((await reply).headers).not.toHaveProperty('x-dragoman-calls')
  expect(ended()).not.toHaveProperty('calls')
})
