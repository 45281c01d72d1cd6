import { once } from 'node:events'
import type { Readable } from 'node:stream'
import fastify from 'fastify'
import { describe, expect, test } from 'vitest'
import { jsonPieces, jsonReply } from './json-reply.ts'

const values: readonly (readonly [name: string, value: unknown])[] = [
  ['a text', 'lorem ipsum '.repeat(20)],
  ['a text with characters that are escaped', '\n"\\\u0001'.repeat(40)],
  ['characters of two units', '😀a😀'.repeat(40)],
  ['half a character', `${'\ud83d'.repeat(50)}x${'\ude00'.repeat(50)}`],
  ['fields that are undefined', { a: undefined, b: 'x'.repeat(50), c: undefined, d: null }],
  ['only fields that are undefined', { ['k'.repeat(60)]: undefined }],
  ['undefined in a list', [undefined, 'x'.repeat(50), undefined]],
  [
    'lists and objects in each other',
    { choices: [{ text: 'x'.repeat(70), list: [1, [], {}, -0.5, true] }, [[['y'.repeat(30)]]]] },
  ],
  ['keys that are escaped', { 'a"\n': 'x'.repeat(40), '': 'y'.repeat(40) }],
]

describe('the pieces of a value are its JSON', () => {
  test.each(values)('%s', (_, value) => {
    for (const pieceChars of [1, 2, 7, 16, 1000]) expect([...jsonPieces(value, pieceChars)].join('')).toBe(JSON.stringify(value))
  })

  test('no piece is much longer than asked for', () => {
    const value = { choices: [{ text: '😀\n'.repeat(5000), logprobs: Array.from({ length: 3000 }, (_, index) => ({ index })) }] }
    // A character may take six.
    for (const piece of jsonPieces(value, 100)) expect(piece.length).toBeLessThanOrEqual(600)
  })
})

test.each([
  ['a small value, which has a length', 'x', true],
  ['a large value, which comes in slices', '中"😀'.repeat(300_000), false],
])('%s, is the same JSON for the client', async (_, text, hasLength) => {
  const app = fastify()
  app.get('/', (_request, reply) => jsonReply(reply, { text, none: undefined }))
  const reply = await app.inject('/')
  expect(reply.headers['content-type']).toBe('application/json; charset=utf-8')
  expect(reply.headers['content-length'] !== undefined).toBe(hasLength)
  expect(reply.json()).toEqual({ text })
  await app.close()
})

test('the rest of a large reply is dropped when the client disconnects', async () => {
  const app = fastify()
  let sent: Readable | undefined
  app.get('/', (_request, reply) => {
    sent = jsonReply(reply, { text: 'x'.repeat(30_000_000) }) as Readable
    return sent
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const leaving = new AbortController()
  await fetch(url, { signal: leaving.signal })
  const closed = once(sent as Readable, 'close')
  leaving.abort()
  await closed
  expect(sent?.readableEnded).toBe(false)
  const stopped = app.close()
  // The aborted fetch may have opened another one.
  app.server.closeAllConnections()
  await stopped
})
