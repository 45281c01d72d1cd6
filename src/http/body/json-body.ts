import { isUtf8 } from 'node:buffer'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { mayLoseDigits } from '../../base/long-numbers.ts'
import { AppError } from '../../contract/errors.ts'
import { findJsonError } from './json-position.ts'

/** Text decoded in one turn of the event loop, for a body that takes several. */
const turnBytes = 1024 * 1024

/** A parsed body, with its text if a number may have lost digits. */
export type JsonBody = { readonly value: unknown; readonly exactText?: string }

/** Parses a request body. Throws `invalid-json` with the position, never quoting the body. */
export function parseJsonBody(body: Buffer): JsonBody {
  const text = withoutMark(decode(body, 0))
  const value = parse(text)
  refusePrototypeKeys(text, value)
  return withText(value, text)
}

/** As `parseJsonBody`, in several turns of the event loop, for a large body. */
export async function parseLargeJsonBody(body: Buffer): Promise<JsonBody> {
  const parts: string[] = []
  for (let start = 0; start < body.length; ) {
    const end = characterEnd(body, start + turnBytes)
    parts.push(decode(body.subarray(start, end), start))
    start = end
    await nextTurn()
  }
  const text = withoutMark(parts.join(''))
  await nextTurn()
  const value = parse(text)
  await nextTurn()
  refusePrototypeKeys(text, value)
  await nextTurn()
  return withText(value, text)
}

function withText(value: unknown, text: string): JsonBody {
  return mayLoseDigits(text) ? { value, exactText: text } : { value }
}

function decode(bytes: Buffer, offset: number): string {
  if (isUtf8(bytes)) return bytes.toString('utf8')
  throw invalid(`the body is not UTF-8: byte ${offset + findInvalidByte(bytes)} is not part of a character`)
}

/** The next end of a character. */
function characterEnd(body: Buffer, from: number): number {
  let end = Math.min(from, body.length)
  while (end < body.length && ((body[end] as number) & 0xc0) === 0x80 && end < from + 3) end += 1
  return end
}

function withoutMark(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    // V8's message quotes the body, which may be a prompt, so it is not even attached as cause.
    throw invalid(`the body is not valid JSON${describePosition(text, error)}`)
  }
}

/** Finding the position of an error takes ten times as long as parsing; in a large body, V8's own message has to do. */
function describePosition(text: string, error: unknown): string {
  if (text.length > turnBytes) {
    const position = error instanceof Error ? /at position (\d+)/.exec(error.message)?.[1] : undefined
    return position === undefined ? '' : `: unexpected character at position ${position}`
  }
  const offset = findJsonError(text) ?? text.length
  if (offset === text.length) return ': it ends too early'
  const before = text.slice(0, offset)
  const lineStart = before.lastIndexOf('\n') + 1
  const line = before.replace(/[^\n]+/g, '').length + 1
  return `: unexpected character at position ${offset} (line ${line}, column ${offset - lineStart + 1})`
}

function refusePrototypeKeys(text: string, value: unknown): void {
  if (mayHoldPrototypeKey(text) && holdsPrototypeKey(value))
    throw invalid("the body has the key '__proto__', which is not allowed")
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

/** Any of its characters may be escaped. One pattern: searching megabytes of other escapes for each takes ten times as long. */
function mayHoldPrototypeKey(text: string): boolean {
  return text.includes('__proto__') || /\\u00[567]/.test(text)
}

/** The key itself is harmless, but code that copies keys one by one would replace its target's prototype. */
function holdsPrototypeKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.hasOwn(value, '__proto__') || Object.values(value).some(holdsPrototypeKey)
}

function invalid(message: string): AppError {
  return new AppError('invalid-json', message)
}
