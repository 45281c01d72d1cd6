import { expect, test } from 'vitest'
import { plainSealer as sealer } from '../../test/support/plain-sealer.ts'
import { decodeMessage } from './anthropic/decode.ts'
import { stackDialects } from './llama-stack/dialects.ts'
import { decodeChat } from './openai-chat/decode.ts'
import { decodeCompletion } from './openai-completions/decode.ts'
import { decodeResponse } from './openai-responses/decode.ts'

const chat = { model: 'm', messages: [{ role: 'user', content: 'hi' }] }
const completion = { model: 'm', prompt: 'hi' }
const context = { id: 'resp_1', createdAtMs: 0, sealer, history: [], items: [] }
const ids = { id: '1', requestId: '1' }

test.each(['max_tokens', 'max_completion_tokens', 'max_length', 'max_new_tokens', 'n_predict'])(
  '%s -1, and -2, is no limit, also where the protocol assumes one',
  (field) => {
    for (const limit of [-1, -2]) {
      expect(decodeChat({ ...chat, [field]: limit }, '1').request.maxOutputTokens).toBeUndefined()
      expect(decodeResponse({ model: 'm', input: 'hi', [field]: limit }, context).request.maxOutputTokens).toBeUndefined()
      const [request] = decodeCompletion({ ...completion, [field]: limit }, '1').requests
      expect([request.maxOutputTokens, request.isMaxOutputAssumed]).toEqual([undefined, undefined])
    }
    expect(() => decodeChat({ ...chat, [field]: -3 }, '1')).toThrow(expect.objectContaining({ param: field }))
  },
)

test('so it is in the words of other protocols', async () => {
  const response = decodeResponse({ model: 'm', input: 'hi', max_output_tokens: -1 }, context)
  expect([response.request.maxOutputTokens, response.head.max_output_tokens]).toEqual([undefined, null])
  expect(decodeMessage({ ...chat, max_tokens: -1 }, { id: '1', sealer }).request.maxOutputTokens).toBeUndefined()
  const body = { model_id: 'm', messages: chat.messages, sampling_params: { max_tokens: -1 } }
  const { requests } = await stackDialects.chat.decode({ headers: {}, body }, ids)
  expect(requests[0].maxOutputTokens).toBeUndefined()
})

test('a request may have many stop sequences, of which empty ones are left out', () => {
  const stop = ['', ...Array.from({ length: 40 }, (_, index) => `stop ${index}`)]
  const decoded = [
    decodeChat({ ...chat, stop }, '1').request,
    decodeCompletion({ ...completion, stop }, '1').requests[0],
    decodeResponse({ model: 'm', input: 'hi', stop }, context).request,
  ]
  expect(decoded.map((request) => request.stop)).toEqual(Array(3).fill(stop.slice(1)))
})
