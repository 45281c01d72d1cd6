import { expect, test } from 'vitest'
import { plainSealer as sealer } from '../../../test/support/plain-sealer.ts'
import { decodeMessage } from './decode.ts'

const inputs = ['{"id": 12345678901234567890, "of": [0.12345678901234567890, "a b"]}', '{"id": 1.0}']
const blocks = inputs.map((input, index) => `{"type": "tool_use", "id": "t${index}", "name": "f", "input": ${input}}`)
const body = `{"model": "m", "max_tokens": 9, "messages": [{"role": "assistant", "content": [${blocks}]}]}`

function inputsOf(exactBody?: string) {
  const { prompt } = decodeMessage(JSON.parse(body), { id: 'msg_1', sealer, exactBody }).request
  if (prompt.type !== 'chat') return expect.unreachable('a message is a chat')
  return prompt.messages.flatMap((message) =>
    ('parts' in message ? message.parts : []).map((part) => 'input' in part && part.input),
  )
}

test("the numbers of a call's input keep the digits of the body", () => {
  expect(inputsOf(body)).toEqual(['{"id":12345678901234567890,"of":[0.12345678901234567890,"a b"]}', '{"id":1}'])
})

test('an input without such numbers does not depend on how it was written', () => {
  expect(inputsOf()[1]).toBe(inputsOf(body)[1])
})
