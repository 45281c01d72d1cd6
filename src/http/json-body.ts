import { isUtf8 } from 'node:buffer'
import { AppError } from '../contract/errors.ts'
import { findJsonError } from './json-position.ts'

/** The nesting limit: far above real requests, far below what recursion can handle. */
const maxJsonDepth = 128

const quote = 0x22
const backslash = 0x5c
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d

/** Parses a request body. Throws `invalid-json` with the position, never quoting the body. */
export function parseJsonBody(body: Buffer): unknown {
  if (body.length === 0) throw invalid('the request has no body; send a JSON object')
  if (!isUtf8(body)) throw invalid(`the body is not UTF-8: byte ${findInvalidByte(body)} is not part of a character`)
  const tooDeepAt = findTooDeep(body)
  if (tooDeepAt !== undefined) throw invalid(`the body nests more than ${maxJsonDepth} levels deep at byte ${tooDeepAt}`)
  const text = body.toString('utf8').replace(/^\uFEFF/, '')
  const value = parse(text)
  if (mayHoldPrototypeKey(text) && holdsPrototypeKey(value))
    throw invalid("the body has the key '__proto__', which is not allowed")
  return value
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // V8's message quotes the body, which may be a prompt, so it is not even attached as cause.
    const offset = findJsonError(text) ?? text.length
    if (offset === text.length) throw invalid('the body is not valid JSON: it ends too early')
    const before = text.slice(0, offset).split('\n')
    const column = (before.at(-1)?.length ?? 0) + 1
    throw invalid(
      `the body is not valid JSON: unexpected character at position ${offset} (line ${before.length}, column ${column})`,
    )
  }
}

/** The offset of the first bracket beyond the nesting limit. */
function findTooDeep(body: Buffer): number | undefined {
  let depth = 0
  for (let index = 0; index < body.length; index++) {
    switch (body[index]) {
      case quote:
        index = findStringEnd(body, index)
        break
      case openBrace:
      case openBracket:
        depth += 1
        if (depth > maxJsonDepth) return index
        break
      case closeBrace:
      case closeBracket:
        depth -= 1
        break
    }
  }
  return undefined
}

function findStringEnd(body: Buffer, start: number): number {
  let end = body.indexOf(quote, start + 1)
  while (end !== -1 && isEscaped(body, end)) end = body.indexOf(quote, end + 1)
  return end === -1 ? body.length : end
}

function isEscaped(body: Buffer, index: number): boolean {
  let first = index
  while (body[first - 1] === backslash) first -= 1
  return (index - first) % 2 === 1
}

/** The offset of the first invalid UTF-8 byte. */
function findInvalidByte(body: Buffer): number {
  const decoded = body.toString('utf8')
  let offset = 0
  for (const part of decoded.split('\uFFFD')) {
    offset += Buffer.byteLength(part)
    // The body itself may contain U+FFFD.
    if (body[offset] !== 0xef || body[offset + 1] !== 0xbf || body[offset + 2] !== 0xbd) return offset
    offset += 3
  }
  return offset
}

function mayHoldPrototypeKey(text: string): boolean {
  return text.includes('__proto__') || /\\u005f/i.test(text)
}

/** The key is harmless itself, but code that copies keys one by one would replace its target's prototype. */
function holdsPrototypeKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.hasOwn(value, '__proto__') || Object.values(value).some(holdsPrototypeKey)
}

function invalid(message: string): AppError {
  return new AppError('invalid-json', message)
}
