import { describe, expect, test } from 'vitest'
import { text } from '../../../../test/support/parts.ts'
import { plainSealer as sealer } from '../../../../test/support/plain-sealer.ts'
import { createWireCheck } from '../../../../test/support/wire-schema.ts'
import { decode, failureOf, messagesOf, promptOf, said } from '../__fixtures__/decode.ts'
import { decodeCompact, decodeInputTokens, encodeInputTokens } from '../decode-narrow-calls.ts'
import { createCompaction, encodeCompaction, summaryRequest } from './compaction.ts'

const checkCompaction = createWireCheck('OpenResponses', { definition: 'CompactResource', isOpen: true })
const usage = { inputTokens: 7, cachedInputTokens: 3, outputTokens: 5, reasoningTokens: 2 }
const context = { id: 'resp_1', createdAtMs: 1_700_000_000_000, sealer, history: [], items: [] }
const summary = createCompaction('We said hi.', sealer)
const summaryMessage = { role: 'user', content: [text('Summary of the conversation so far:\n\nWe said hi.')] }

describe('a compaction', () => {
  test('is read back as what the model summarised', () => {
    const input = [summary.json, { role: 'user', content: 'Go on.' }]
    expect(messagesOf({ input })).toEqual([summaryMessage, { role: 'user', content: [text('Go on.')] }])
  })

  test('stands for everything before it but the instructions', () => {
    const input = [
      { role: 'user', content: 'old' },
      { role: 'developer', content: 'Be brief.' },
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'x' },
      summary.json,
    ]
    const history = [said('msg_1', 'user', 'older')]
    expect(messagesOf({ input }, { history })).toEqual([{ role: 'developer', content: [text('Be brief.')] }, summaryMessage])
  })

  test('of another server is refused by name', () => {
    const input = [{ type: 'compaction', encrypted_content: 'gAAAAA' }]
    expect(failureOf({ input })).toMatchObject({ code: 'invalid-request', param: 'input[0].encrypted_content' })
  })

  test('does not pass for a thought', () => {
    const input = [{ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: summary.json.encrypted_content }]
    expect(decode({ input: [...input, { role: 'user', content: 'hi' }] }).ignored).toEqual(['input[0]'])
  })

  test('is the output of its own reply, which follows the schema of Open Responses', () => {
    const reply = encodeCompaction({ id: 'resp_1', createdAtMs: 1_700_000_000_999, item: summary, usage })
    checkCompaction(JSON.parse(JSON.stringify(reply)))
    expect(reply).toMatchObject({ object: 'response.compaction', created_at: 1_700_000_000, output: [{ type: 'compaction' }] })
  })
})

describe('the request for a summary', () => {
  const tools = [{ type: 'function', name: 'f' }]
  const { request } = decode({ tools, tool_choice: 'required', text: { format: { type: 'json_object' } }, max_output_tokens: 3 })
  const asked = summaryRequest(request)

  test('continues the same prompt, so that a cache has its beginning', () => {
    if (asked.prompt.type !== 'chat' || request.prompt.type !== 'chat') throw new Error('expected chats')
    expect(asked.prompt.messages.slice(0, -1)).toEqual(request.prompt.messages)
    expect(asked.prompt.tools).toEqual(request.prompt.tools)
    expect(asked.prompt.messages.at(-1)).toMatchObject({ role: 'user' })
  })

  test('asks for a text of any length, without calls', () => {
    expect(asked).toMatchObject({ toolChoice: { type: 'none' }, output: { type: 'text' } })
    expect(asked).not.toHaveProperty('maxOutputTokens')
  })
})

test('a trigger asks for a compaction, and is not a message', () => {
  const decoded = decode({ input: [{ role: 'user', content: 'hi' }, { type: 'compaction_trigger' }] })
  expect(decoded.isCompactionTriggered).toBe(true)
  expect(promptOf(decoded).messages).toEqual([{ role: 'user', content: [text('hi')] }])
  expect(decoded.input()).toHaveLength(1)
  expect(decoded.ignored).toEqual([])
})

test('the threshold of a compaction is read; other strategies have none', () => {
  const entry = { type: 'compaction', compact_threshold: 2000 }
  expect(decode({ context_management: [entry] }).compactThreshold).toBe(2000)
  expect(decode({ context_management: [{ type: 'later' }] }).compactThreshold).toBeUndefined()
})

describe('calls that take a part of a response’s fields', () => {
  test('ignore the others, and say so', () => {
    const decoded = decodeCompact({ model: 'm', input: 'hi', store: true, temperature: 3 }, context)
    expect(decoded.ignored).toEqual(['store', 'temperature'])
    expect(decodeInputTokens({ model: 'm', input: 'hi', stream: null, background: true }, context).ignored).toEqual([
      'background',
    ])
  })

  test('count the tokens of the same prompt', () => {
    const fields = { model: 'm', input: 'hi', instructions: 'Be brief.', tools: [{ type: 'function', name: 'f' }] }
    expect(promptOf(decodeInputTokens(fields, context))).toEqual(promptOf(decode(fields)))
    expect(encodeInputTokens(12)).toEqual({ object: 'response.input_tokens', input_tokens: 12 })
  })

  test('refuse what is not a body by what it is', () => {
    expect(() => decodeCompact('hi', context)).toThrow(/expected an object/)
  })
})
