import { isUtf8 } from 'node:buffer'
import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { AppError } from '../../contract/errors.ts'
import { JsonScanner } from '../../dialect/wire/json/json-scanner.ts'
import type { BodyRoom } from './body-room.ts'
import { asCutBody } from './cut-body.ts'
import { parseJsonBody } from './json-body.ts'
import { noRoom, tooLarge } from './read-body.ts'

type Limits = {
  /** The limit of each element, and of what is beside the list. */
  readonly itemBytes: number
  readonly totalBytes: number
  readonly room: BodyRoom
}

/** The text of an element, or at the end the body with an empty list. */
export type ListPiece = { readonly item: string } | { readonly rest: unknown }

/** Reads a JSON object with a long list in `field` while it arrives: no more than one element is in memory. */
export async function* readList(
  request: FastifyRequest,
  field: string,
  { itemBytes, totalBytes, room }: Limits,
): AsyncGenerator<ListPiece> {
  const { body } = request
  if (!(body instanceof Readable)) throw new AppError('invalid-json', 'the request has no body; send a JSON object')
  request.body = undefined
  const splitter = new ListSplitter(field)
  let share = room.open()
  let size = 0
  try {
    // Not destroyed with this loop: its connection has to bring the reply.
    for await (const piece of body.iterator({ destroyOnReturn: false })) {
      size += piece.length
      if (size > totalBytes) throw tooLarge(totalBytes, 'of a whole batch')
      for (const item of splitter.push(piece)) {
        if (item.length > itemBytes) throw tooLarge(itemBytes)
        yield { item: textOf(item) }
        share.close()
        share = room.open()
      }
      if (splitter.waitingBytes > itemBytes) throw tooLarge(itemBytes)
      if (!share.grow(splitter.waitingBytes - share.sizeBytes)) throw noRoom()
    }
    yield { rest: parseJsonBody(splitter.rest()).value }
  } catch (error) {
    throw asCutBody(error) ?? error
  } finally {
    share.close()
    body.resume()
  }
}

/** Throws for an element that would hold up everybody else. */
function textOf(item: Buffer): string {
  if (!isUtf8(item)) throw new AppError('invalid-json', 'the body is not UTF-8')
  new JsonScanner('an element of the list').push(item)
  return item.toString('utf8')
}

/** A name may have 200 bytes of space behind it. */
const tailBytes = 256

const quote = 0x22
const comma = 0x2c
const backslash = 0x5c
const openings: ReadonlySet<number | undefined> = new Set([0x5b, 0x7b])
const closings: ReadonlySet<number | undefined> = new Set([0x5d, 0x7d])

/** Splits a JSON object that arrives in pieces into the elements of a list in it and the rest. The syntax is not checked. */
class ListSplitter {
  /** Ends with the start of the list, at the bracket of a field of the object. */
  readonly #start: RegExp
  readonly #rest: Buffer[] = []
  #item: Buffer[] = []
  #itemBytes = 0
  #restBytes = 0
  #depth = 0
  #isInList = false
  #hasItems = false
  #isInText = false
  #isEscaped = false

  constructor(field: string) {
    this.#start = new RegExp(`"${field}"\\s*:\\s*\\[$`)
  }

  /** The bytes that wait for their end. */
  get waitingBytes(): number {
    return this.#itemBytes + this.#restBytes
  }

  /** The elements that end in this piece. */
  push(piece: Buffer): readonly Buffer[] {
    const items: Buffer[] = []
    let start = 0
    const keep = (end: number) => {
      this.#keep(piece.subarray(start, end))
      start = end
    }
    for (let index = 0; index < piece.length; index += 1) {
      const byte = piece[index]
      if (this.#isText(byte)) continue
      if (openings.has(byte)) {
        this.#depth += 1
        if (this.#isInList || this.#depth !== 2 || byte !== 0x5b) continue
        if (!this.#start.test(this.#tail(piece.subarray(start, index + 1)))) continue
        keep(index + 1)
        this.#isInList = true
      } else if (closings.has(byte)) {
        if (this.#isInList && this.#depth === 2) {
          keep(index)
          if (this.#hasItems || !isBlank(this.#item)) items.push(this.#endItem())
          this.#isInList = false
        }
        this.#depth -= 1
      } else if (byte === comma && this.#isInList && this.#depth === 2) {
        keep(index)
        items.push(this.#endItem())
        start = index + 1
      }
    }
    keep(piece.length)
    return items
  }

  /** Whether the byte is of a string, with its quotes. */
  #isText(byte: number | undefined): boolean {
    if (!this.#isInText) {
      this.#isInText = byte === quote
      return this.#isInText
    }
    if (this.#isEscaped) this.#isEscaped = false
    else if (byte === backslash) this.#isEscaped = true
    else if (byte === quote) this.#isInText = false
    return true
  }

  #keep(part: Buffer): void {
    if (part.length === 0) return
    if (this.#isInList) {
      this.#item.push(part)
      this.#itemBytes += part.length
    } else {
      this.#rest.push(part)
      this.#restBytes += part.length
    }
  }

  #endItem(): Buffer {
    const item = Buffer.concat(this.#item)
    this.#item = []
    this.#itemBytes = 0
    this.#hasItems = true
    return item
  }

  rest(): Buffer {
    return Buffer.concat(this.#rest)
  }

  /** The end of what has come, with a name and the space around its colon. */
  #tail(last: Buffer): string {
    let tail = ''
    for (const part of [last, ...this.#rest.slice(-tailBytes).reverse()]) {
      tail = part.subarray(-tailBytes).toString('latin1') + tail
      if (tail.length >= tailBytes) break
    }
    return tail
  }
}

function isBlank(parts: readonly Buffer[]): boolean {
  return Buffer.concat(parts).toString('latin1').trim() === ''
}
