import { expect, test } from 'vitest'
import { EventParser } from './sse.ts'

test('events come in pieces that are cut anywhere; comments are heard apart', () => {
  const stream = ': queue-position=2\n\nevent: load\nid: 7\ndata: {"a":\ndata: 1}\n\ndata: [DONE]\n\n'
  for (const size of [1, 3, 1000]) {
    const comments: string[] = []
    const parser = new EventParser((comment) => comments.push(comment))
    const events = []
    for (let at = 0; at < stream.length; at += size) events.push(...parser.push(stream.slice(at, at + size)))
    expect(events).toEqual([
      { event: 'load', id: '7', data: '{"a":\n1}' },
      { event: 'message', id: undefined, data: '[DONE]' },
    ])
    expect(comments).toEqual(['queue-position=2'])
  }
})
