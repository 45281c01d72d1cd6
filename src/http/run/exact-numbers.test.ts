import { expect, test } from 'vitest'
import { openTestServer } from '../../../test/support/http/test-server.ts'
import { callsOf } from '../../canonical/parts.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import { createFakeEngine } from '../../engine/fake/engine.ts'

const input = '{"id": 9007199254740993, "ratio": 0.12345678901234567890}'
const script = JSON.stringify({ raw: `<tool_call>{"name": "f", "arguments": ${input}}</tool_call>` })
const tool = { name: 'f', input_schema: { type: 'object' } }
const question = { role: 'user', content: script }
const fields = { model: 'default', max_tokens: 99, tools: [tool] }

/** A server, and the requests that its engine was given. */
async function open() {
  const requests: GenerationRequest[] = []
  const fake = createFakeEngine({ script: 'from-request', toolFormat: 'hermes' })
  const engine = Object.assign(Object.create(fake), {
    prepare: (request: GenerationRequest, signal: AbortSignal) => {
      requests.push(request)
      return fake.prepare(request, signal)
    },
  })
  const { listen } = openTestServer({ engine })
  const url = `http://127.0.0.1:${await listen()}`
  const ask = async (path: string, body: string) => {
    const response = await fetch(`${url}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    expect(response.status).toBe(200)
    return response.text()
  }
  return { ask, requests }
}

test('the numbers of a call come to an Anthropic client digit for digit, whole and streamed', async () => {
  const { ask } = await open()
  const whole = await ask('/v1/messages', JSON.stringify({ ...fields, messages: [question] }))
  expect(whole).toContain(`"input":${input}`)
  expect(JSON.parse(whole)).toMatchObject({ type: 'message', content: [{ type: 'tool_use' }], stop_reason: 'tool_use' })
  const stream = await ask('/v1/messages', JSON.stringify({ ...fields, stream: true, messages: [question] }))
  const pieces = [...stream.matchAll(/^data: (.*"input_json_delta".*)$/gm)].map(
    ([, data = '']) => JSON.parse(data).delta.partial_json,
  )
  expect(pieces.join('')).toBe(input)
})

test('and back to the model', async () => {
  const { ask, requests } = await open()
  const turns = [question, { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: 0 }] }, question]
  await ask('/v1/messages', JSON.stringify({ ...fields, messages: turns }).replace('"input":0', `"input":${input}`))
  const [request] = requests
  const messages = request?.prompt.type === 'chat' ? request.prompt.messages : []
  expect(messages.flatMap((message) => callsOf('parts' in message ? message.parts : []))).toMatchObject([
    { input: input.replaceAll(' ', '') },
  ])
})
