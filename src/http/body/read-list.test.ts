import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { expect, test } from 'vitest'
import { AppError } from '../../contract/errors.ts'
import { BodyRoom } from './body-room.ts'
import { readList } from './read-list.ts'

const limits = { itemBytes: 10_000, totalBytes: 100_000 }

async function read(pieces: readonly Buffer[], more: Partial<typeof limits> = {}) {
  const request = { body: Readable.from(pieces) } as unknown as FastifyRequest
  const items: unknown[] = []
  let rest: unknown
  for await (const piece of readList(request, 'list', { ...limits, ...more, room: new BodyRoom(1_000_000) })) {
    if ('item' in piece) items.push(JSON.parse(piece.item))
    else rest = piece.rest
  }
  return { items, rest }
}

type Body = { readonly [field: string]: unknown; readonly list?: readonly unknown[] }

test.each<Body>([
  { list: [1, 'a,]"\\\\"', { list: [[2], '}'] }, [], null], after: { list: [3] } },
  { before: ['"list": ['], nested: { list: [4] }, list: ['ä€'], text: '"list":[' },
  { list: [] },
  { other: [1, 2] },
])('elements and the rest are the same wherever the body is cut: %j', async (body) => {
  const bytes = Buffer.from(JSON.stringify(body, undefined, 1))
  const expected = { items: body.list ?? [], rest: 'list' in body ? { ...body, list: [] } : body }
  for (let at = 0; at <= bytes.length; at += 1) {
    expect(await read([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(expected)
  }
  expect(await read(Array.from(bytes, (byte) => Buffer.from([byte])))).toEqual(expected)
})

test('many lists beside the one are not searched again for each', async () => {
  const lists = '"a":[],'.repeat(100_000)
  const sizes = { itemBytes: 1_000_000, totalBytes: 1_000_000 }
  expect(await read([Buffer.from(`{${lists}"list":[1]}`)], sizes)).toEqual({ items: [1], rest: { a: [], list: [] } })
})

test('an element and the whole have limits, and what is no JSON is refused', async () => {
  const body = [Buffer.from(JSON.stringify({ list: ['x'.repeat(50), 'y'.repeat(50)] }))]
  const codeOf = (reading: Promise<unknown>) => reading.then(undefined, (error: unknown) => AppError.from(error).code)
  expect(await codeOf(read([Buffer.from('{"list":["'), Buffer.from('x'.repeat(50))], { itemBytes: 20 }))).toBe('body-too-large')
  expect(await codeOf(read(body, { itemBytes: 40 }))).toBe('body-too-large')
  expect(await codeOf(read(body, { totalBytes: 100 }))).toBe('body-too-large')
  expect(await codeOf(read([Buffer.from('{"list":[1]')]))).toBe('invalid-json')
  expect(
    await codeOf(read([Buffer.from([0x7b, 0x22, 0x6c, 0x69, 0x73, 0x74, 0x22, 0x3a, 0x5b, 0x22, 0xff, 0x22, 0x5d, 0x7d])])),
  ).toBe('invalid-json')
})
