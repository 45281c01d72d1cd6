import { excess, UpstreamError } from './upstream-error.ts'

/** The limits of one JSON document. */
export type JsonBounds = {
  /** Characters of its source. */
  readonly maxLength: number
  /** About 8 bytes each: 1 for a number, 3 for a text, 8 for a list or an object. */
  readonly maxUnits: number
}

const maxDepth = 100
/** All texts together, in characters. */
const maxKept = 16 * 1024 * 1024
const maxScalar = 1000
/** Longer texts reserve their memory. */
const longText = 64 * 1024

const units = { scalar: 1, text: 3, container: 8 }
const [quote, backslash, comma, colon, openBracket, closeBracket, openBrace, closeBrace] = [...'"\\,:[]{}'].map((c) =>
  c.charCodeAt(0),
)

type Frame = { readonly value: unknown[] | { [key: string]: unknown }; key: string }

type Expected = 'value' | 'value-or-end' | 'key' | 'key-or-end' | 'colon' | 'comma-or-end' | 'nothing'

/**
 * Parses JSON that arrives in pieces, in linear time and without holding its source, so that no document blocks the event loop or exceeds
 * its bounds. Throws an `UpstreamError`: `malformed` for invalid JSON, `excess` beyond the bounds.
 */
export class JsonReader {
  readonly #bounds: JsonBounds
  readonly #memory = new HeldMemory()
  readonly #frames: Frame[] = []
  #expected: Expected = 'value'
  #root: unknown
  /** An incomplete scalar or escape sequence. */
  #carried = ''
  #inText = false
  #parts: string[] = []
  #partsLength = 0
  #length = 0
  #units = 0
  #kept = 0

  constructor(bounds: JsonBounds) {
    this.#bounds = bounds
  }

  push(piece: string): void {
    this.#length += piece.length
    if (this.#length > this.#bounds.maxLength) throw excess(`more than ${this.#bounds.maxLength} characters`)
    const text = this.#carried === '' ? piece : this.#carried + piece
    this.#carried = ''
    let at = 0
    while (at < text.length) at = this.#inText ? this.#readText(text, at) : this.#readToken(text, at)
  }

  /** The document. */
  end(): unknown {
    this.push(' ')
    if (this.#expected !== 'nothing' || this.#inText) throw malformed()
    return this.#root
  }

  /** Releases the reserved memory. Needed after a failure, too. */
  release(): void {
    this.#memory.release()
  }

  #readToken(text: string, start: number): number {
    const code = text.charCodeAt(start)
    switch (code) {
      case 0x20:
      case 0x0a:
      case 0x0d:
      case 0x09:
        return start + 1
      case quote:
        if (this.#expected !== 'key' && this.#expected !== 'key-or-end') this.#expectValue()
        this.#inText = true
        return start + 1
      case openBrace:
      case openBracket:
        this.#open(code === openBrace)
        return start + 1
      case closeBrace:
        return this.#close(start, 'key-or-end')
      case closeBracket:
        return this.#close(start, 'value-or-end')
      case colon:
        if (this.#expected !== 'colon') throw malformed()
        this.#expected = 'value'
        return start + 1
      case comma:
        if (this.#expected !== 'comma-or-end') throw malformed()
        this.#expected = Array.isArray(this.#frames.at(-1)?.value) ? 'value' : 'key'
        return start + 1
      default:
        return this.#readScalar(text, start)
    }
  }

  #readScalar(text: string, start: number): number {
    let end = start
    while (end < text.length && isScalar(text.charCodeAt(end))) end += 1
    if (end === text.length) {
      if (end - start > maxScalar) throw malformed()
      this.#carried = text.slice(start)
      return end
    }
    this.#expectValue()
    this.#place(scalarOf(text.slice(start, end)), units.scalar)
    return end
  }

  /** Reads on inside a text, to its end or to the end of the piece. */
  #readText(text: string, start: number): number {
    for (let from = start; ; ) {
      const end = text.indexOf('"', from)
      if (end === -1) return this.#endPiece(text, start)
      if (isEscaped(text, end, start)) {
        from = end + 1
        continue
      }
      this.#append(text.slice(start, end))
      this.#endText()
      return end + 1
    }
  }

  #endPiece(text: string, start: number): number {
    const cut = incompleteEscape(text, start)
    this.#append(text.slice(start, cut))
    this.#carried = text.slice(cut)
    return text.length
  }

  #append(raw: string): void {
    if (raw === '') return
    const part = raw.includes('\\') ? unescaped(raw) : raw
    this.#partsLength += part.length
    this.#parts.push(part)
    this.#check(this.#partsLength)
  }

  #endText(): void {
    const text = this.#parts.length === 1 ? (this.#parts[0] ?? '') : this.#parts.join('')
    this.#inText = false
    this.#parts = []
    this.#partsLength = 0
    this.#kept += text.length
    this.#check(0)
    if (this.#expected === 'key' || this.#expected === 'key-or-end') {
      const frame = this.#frames.at(-1)
      if (frame !== undefined) frame.key = text
      this.#count(units.text)
      this.#expected = 'colon'
    } else {
      this.#place(text, units.text)
    }
  }

  #check(pending: number): void {
    if (this.#kept + pending > maxKept) throw excess(`texts of more than ${maxKept} characters`)
    if (this.#kept + pending > longText) this.#memory.hold(this.#kept + pending + 8 * this.#units)
  }

  #open(isObject: boolean): void {
    this.#expectValue()
    const value = isObject ? {} : []
    this.#place(value, units.container)
    if (this.#frames.length >= maxDepth) throw excess(`JSON that is nested more than ${maxDepth} deep`)
    this.#frames.push({ value, key: '' })
    this.#expected = isObject ? 'key-or-end' : 'value-or-end'
  }

  #close(at: number, empty: 'key-or-end' | 'value-or-end'): number {
    const frame = this.#frames.pop()
    const isObject = empty === 'key-or-end'
    if (frame === undefined || Array.isArray(frame.value) === isObject) throw malformed()
    if (this.#expected !== 'comma-or-end' && this.#expected !== empty) throw malformed()
    this.#expected = this.#frames.length === 0 ? 'nothing' : 'comma-or-end'
    return at + 1
  }

  #expectValue(): void {
    if (this.#expected !== 'value' && this.#expected !== 'value-or-end') throw malformed()
  }

  #place(value: unknown, cost: number): void {
    this.#count(cost)
    const frame = this.#frames.at(-1)
    if (frame === undefined) {
      this.#root = value
      this.#expected = 'nothing'
      return
    }
    if (Array.isArray(frame.value)) frame.value.push(value)
    // An assignment would set the prototype.
    else if (frame.key !== '__proto__') frame.value[frame.key] = value
    this.#expected = 'comma-or-end'
  }

  #count(cost: number): void {
    this.#units += cost
    if (this.#units > this.#bounds.maxUnits) throw excess('more values than any request needs')
    if (this.#units % 4096 < cost) this.#memory.hold(this.#kept + 8 * this.#units)
  }
}

function isScalar(code: number): boolean {
  // Digits and letters, plus, minus and point.
  return (
    (code >= 0x30 && code <= 0x39) ||
    (code >= 0x61 && code <= 0x7a) ||
    code === 0x2d ||
    code === 0x2e ||
    code === 0x2b ||
    code === 0x45
  )
}

function scalarOf(token: string): unknown {
  if (token === 'true') return true
  if (token === 'false') return false
  if (token === 'null') return null
  const value = Number(token)
  if (token === '' || Number.isNaN(value)) throw malformed()
  return value
}

function isEscaped(text: string, at: number, start: number): boolean {
  let before = at
  while (before > start && text.charCodeAt(before - 1) === backslash) before -= 1
  return (at - before) % 2 === 1
}

/** The start of an escape sequence that the piece does not complete; otherwise the end of the piece. */
function incompleteEscape(text: string, start: number): number {
  for (let at = text.length - 1; at >= Math.max(start, text.length - 6); at--) {
    if (text.charCodeAt(at) !== backslash || isEscaped(text, at, start)) continue
    const needed = text[at + 1] === 'u' ? 6 : 2
    return text.length - at < needed ? at : text.length
  }
  return text.length
}

function unescaped(raw: string): string {
  try {
    return JSON.parse(`"${raw}"`)
  } catch {
    throw malformed()
  }
}

function malformed(): UpstreamError {
  return new UpstreamError({ type: 'malformed' }, 'the server behind this model sent something that is not JSON')
}

/** For the replies of all upstreams together, in bytes. Each single reply has its own bounds. */
const maxHeld = 1024 * 1024 * 1024
let held = 0

/** The part of the shared memory that one large reply has reserved. */
export class HeldMemory {
  #own = 0

  /** Reserves `bytes` in total. Throws an `UpstreamError` if the replies of all requests together hold too much. */
  hold(bytes: number): void {
    const more = bytes - this.#own
    if (held + more > maxHeld) {
      throw new UpstreamError(
        { type: 'excess' },
        'large replies of servers take all the memory that they may have: try again later',
      )
    }
    held += more
    this.#own = bytes
  }

  release(): void {
    held -= this.#own
    this.#own = 0
  }
}
