import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'
import { RawJson } from '../../dialect/wire/json/exact-json.ts'

/** Larger values are sent in slices; roughly in characters of JSON. */
const sliceChars = 256 * 1024

/** The reply with this JSON value, for a handler to return: a large one is encoded and sent in slices, between which others are served. */
export function jsonReply(reply: FastifyReply, value: unknown): unknown {
  if (weigh(value, sliceChars) < sliceChars) return value
  if (reply.raw.destroyed) {
    // The client has disconnected, which Fastify would report as a failure of the stream.
    reply.hijack()
    return undefined
  }
  reply.type('application/json; charset=utf-8')
  return Readable.from(encodeInTurns(value), { objectMode: false })
}

async function* encodeInTurns(value: unknown): AsyncGenerator<Buffer> {
  let slice = ''
  for (const piece of jsonPieces(value)) {
    slice += piece
    if (slice.length < sliceChars) continue
    yield Buffer.from(slice)
    slice = ''
    await nextTurn()
  }
  if (slice !== '') yield Buffer.from(slice)
}

/** The JSON of a plain value, as `JSON.stringify` writes it, in pieces; raw JSON is written unchanged. */
export function* jsonPieces(value: unknown, pieceChars = sliceChars): Generator<string> {
  if (value instanceof RawJson) yield value.text
  else if (typeof value === 'string' && value.length > pieceChars) yield* stringPieces(value, pieceChars)
  else if (typeof value !== 'object' || value === null || weigh(value, pieceChars) < pieceChars) yield JSON.stringify(value)
  else if (Array.isArray(value)) {
    let before = '['
    for (const item of value) {
      yield before
      yield* jsonPieces(item === undefined ? null : item, pieceChars)
      before = ','
    }
    yield before === '[' ? '[]' : ']'
  } else {
    let before = '{'
    for (const [key, field] of Object.entries(value)) {
      if (field === undefined) continue
      yield `${before}${JSON.stringify(key)}:`
      yield* jsonPieces(field, pieceChars)
      before = ','
    }
    yield before === '{' ? '{}' : '}'
  }
}

function* stringPieces(text: string, pieceChars: number): Generator<string> {
  yield '"'
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + pieceChars, text.length)
    // A pair of surrogates is one character.
    if (end < text.length && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800) end += 1
    yield JSON.stringify(text.slice(start, end)).slice(1, -1)
    start = end
  }
  yield '"'
}

/**
 * The approximate number of JSON characters of a value; at most `most` are counted. Raw JSON counts as all of them: only pieces preserve
 * it.
 */
function weigh(value: unknown, most: number): number {
  if (value instanceof RawJson) return most
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return 4
  let weight = 2
  if (Array.isArray(value)) {
    for (const item of value) {
      weight += 1 + weigh(item, most - weight)
      if (weight >= most) break
    }
    return weight
  }
  for (const key in value) {
    weight += key.length + 4 + weigh((value as Record<string, unknown>)[key], most - weight)
    if (weight >= most) break
  }
  return weight
}
