import { describe, expect, onTestFinished, test } from 'vitest'
import { measuredApp, megabyte, mib, pour, request, streamed } from '../support/process/measured.ts'
import { longestStallMs } from '../support/process/stall-bound.ts'
import { messageOf, messagesEvent, textBlock } from '../support/upstream/messages-stream.ts'
import { messageItem, responseOf, responsesEvent } from '../support/upstream/responses-stream.ts'
import { type Answer, startUpstream } from '../support/upstream/upstream.ts'

const small: Readonly<Record<string, Answer>> = {
  messages: messageOf(textBlock(0, 'ok')),
  responses: responseOf(messageItem(0, 'ok')),
}
const open = messagesEvent('content_block_start', {
  index: 0,
  content_block: { type: 'tool_use', id: 'c', name: 'g', input: {} },
})
const tools = [{ type: 'function', function: { name: 'g', parameters: { type: 'object' } } }]
const signature = messagesEvent('content_block_delta', { index: 0, delta: { type: 'signature_delta', signature: megabyte } })
const thought = messagesEvent('content_block_start', { index: 0, content_block: { type: 'thinking', thinking: '' } })
const inputDelta = { index: 0, delta: { type: 'input_json_delta', partial_json: megabyte } }
const call = responsesEvent('response.output_item.added', {
  output_index: 0,
  item: { type: 'function_call', call_id: 'c', name: 'g', arguments: '' },
})

describe('a server of another protocol that sends', () => {
  test.each<[string, string, (index: number) => string, Record<string, unknown>]>([
    ['messages', 'endless text', () => messagesEvent('content_block_delta', textDelta('text_delta', 'text')), {}],
    [
      'messages',
      'an endless call',
      (index) => (index === 0 ? open : messagesEvent('content_block_delta', inputDelta)),
      { tools },
    ],
    ['messages', 'an endless signature', (index) => (index === 0 ? thought : signature), {}],
    [
      'messages',
      'endless blocks',
      (index) => messagesEvent('content_block_start', { index, content_block: { type: 'text' } }),
      {},
    ],
    ['responses', 'endless text', () => responsesEvent('response.output_text.delta', { output_index: 0, delta: megabyte }), {}],
    [
      'responses',
      'an endless call',
      (index) =>
        index === 0 ? call : responsesEvent('response.function_call_arguments.delta', { output_index: 0, delta: megabyte }),
      { tools },
    ],
    [
      'responses',
      'endless items',
      (index) => responsesEvent('response.output_item.added', { output_index: index, item: {} }),
      {},
    ],
  ])('%s: %s costs little and stalls nobody', async (protocol, _, piece, body) => {
    const server = await startUpstream(small[protocol] ?? streamed(async () => undefined))
    onTestFinished(() => server.close())
    const app = await measuredApp(server, protocol)
    for (let turn = 0; turn < 3; turn++) await request(app.url, {})
    server.answer = streamed((response) => pour(response, 600, piece))
    await app.next()
    const before = (await app.next()).peakBytes
    const reply = await request(app.url, { stream: true, ...body })
    const { stallMs, peakBytes } = await app.next()
    expect(reply.text).toContain('upstream_failed')
    expect((peakBytes - before) / mib).toBeLessThan(128)
    expect(stallMs).toBeLessThan(longestStallMs())
  })

  test.each([1, 15])('messages: an event of %d MB of text is passed on', async (size) => {
    const server = await startUpstream(small.messages ?? streamed(async () => undefined))
    onTestFinished(() => server.close())
    const app = await measuredApp(server, 'messages')
    for (let turn = 0; turn < 3; turn++) await request(app.url, {})
    server.answer = streamed(async (response) => {
      response.write('data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"')
      await pour(response, size, () => megabyte)
      response.write('"}}\n\n')
      response.write(messagesEvent('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } }))
    })
    await app.next()
    const before = (await app.next()).peakBytes
    const reply = await request(app.url, { stream: true })
    const { stallMs, peakBytes } = await app.next()
    expect(reply.length).toBeGreaterThan(size * mib)
    expect(reply.text).toContain('[DONE]')
    expect((peakBytes - before) / mib).toBeLessThan(128)
    expect(stallMs).toBeLessThan(longestStallMs())
  })
})

function textDelta(type: string, name: string): object {
  return { index: 0, delta: { type, [name]: megabyte } }
}
