import { type Answer, streamOf } from './upstream.ts'

/** One event of Messages. */
export function messagesEvent(type: string, fields: object = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
}

export const messageStart = messagesEvent('message_start', {
  message: {
    id: 'msg_x',
    type: 'message',
    role: 'assistant',
    content: [],
    model: 'up',
    usage: { input_tokens: 3, output_tokens: 1 },
  },
})

/** A block with its deltas. */
export function blockOf(index: number, content_block: object, deltas: readonly object[]): string {
  const pieces = deltas.map((delta) => messagesEvent('content_block_delta', { index, delta }))
  return [
    messagesEvent('content_block_start', { index, content_block }),
    ...pieces,
    messagesEvent('content_block_stop', { index }),
  ].join('')
}

export function textBlock(index: number, ...pieces: readonly string[]): string {
  const deltas = pieces.map((text) => ({ type: 'text_delta', text }))
  return blockOf(index, { type: 'text', text: '' }, deltas)
}

export function callBlock(index: number, id: string, name: string, ...pieces: readonly string[]): string {
  const deltas = pieces.map((partial_json) => ({ type: 'input_json_delta', partial_json }))
  return blockOf(index, { type: 'tool_use', id, name, input: {} }, deltas)
}

/** The end of a message. */
export function messageEnd(
  stop_reason: string,
  usage: object = { output_tokens: 5 },
  stop_sequence: string | null = null,
): string {
  return messagesEvent('message_delta', { delta: { stop_reason, stop_sequence }, usage }) + messagesEvent('message_stop')
}

/** A complete reply with these blocks. */
export function messageOf(...blocks: readonly string[]): Answer {
  return streamOf(messageStart, ...blocks, messageEnd('end_turn'))
}
