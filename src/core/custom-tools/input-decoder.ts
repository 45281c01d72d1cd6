import { isObject, parseJson } from '../../base/json.ts'
import type { ToolCallState } from '../../contract/request.ts'

/** The end of an input: the rest of its text, and how the arguments were read. */
type InputEnd = { readonly delta: string; readonly state?: Exclude<ToolCallState, 'ok'>; readonly raw?: string }

/**
 * - `opening`: before the text.
 * - `string`: inside the string of `input`, whose text is passed on as it arrives.
 * - `closed`: after that string.
 * - `plain`: the arguments are not JSON, but the text itself.
 * - `held`: JSON of another shape, which is read when it is complete.
 */
type Mode = 'opening' | 'string' | 'closed' | 'plain' | 'held'

/** White space may surround these tokens. */
const opening = ['{', '"input"', ':', '"'] as const
const shortEscapes: Readonly<Record<string, string>> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  '"': '"',
  '\\': '\\',
  '/': '/',
  "'": "'",
}

/**
 * Reads the text of a custom call from the arguments of a function call, `{"input": "…"}`, split into any pieces. Never takes back returned
 * text.
 */
export class InputDecoder {
  #mode: Mode = 'opening'
  #tokensRead = 0
  #arguments = ''
  /** Unread input: the beginning of a token or of an escape. */
  #rest = ''
  /** The first half of a surrogate pair. */
  #highSurrogate = ''
  /** The input after the string. */
  #tail = ''
  #text = ''

  /** Adds a piece; returns the text that is now certain. */
  push(piece: string): string {
    this.#arguments += piece
    this.#rest += piece
    if (this.#mode === 'opening') this.#readOpening()
    return this.#send(this.#read(), this.#mode !== 'closed')
  }

  end(): InputEnd {
    const { delta, state } = this.#ending()
    this.#text += delta
    const raw = this.#arguments
    return { delta, ...(state !== undefined && { state, ...(raw !== this.#text && { raw }) }) }
  }

  #ending(): Ending {
    switch (this.#mode) {
      case 'opening':
        return { delta: '', state: this.#arguments.trim() === '' ? 'repaired' : 'unparseable' }
      case 'string':
        return { delta: '', state: 'unparseable' }
      case 'closed':
        return readStreamed(this.#arguments, { text: this.#text, tail: this.#tail })
      case 'plain':
        return { delta: this.#highSurrogate, state: 'repaired' }
      case 'held':
        return readHeld(this.#arguments)
    }
  }

  #readOpening(): void {
    for (let token = opening[this.#tokensRead]; token !== undefined; token = opening[this.#tokensRead]) {
      const found = this.#rest.trimStart()
      if (found.length < token.length && token.startsWith(found)) {
        this.#rest = found
        return
      }
      if (!found.startsWith(token)) {
        const isText = this.#tokensRead === 0 && !found.startsWith('"')
        this.#mode = isText ? 'plain' : 'held'
        if (isText) this.#rest = this.#arguments
        return
      }
      this.#rest = found.slice(token.length)
      this.#tokensRead += 1
    }
    this.#mode = 'string'
  }

  #read(): string {
    switch (this.#mode) {
      case 'opening':
        return ''
      case 'string':
        return this.#readString()
      case 'closed':
        this.#tail += this.#takeRest()
        return ''
      case 'plain':
        return this.#takeRest()
      case 'held':
        this.#rest = ''
        return ''
    }
  }

  #readString(): string {
    const json = this.#rest
    let text = ''
    let at = 0
    while (at < json.length) {
      const stop = nextStop(json, at)
      text += json.slice(at, stop)
      at = stop
      if (json[at] === '"') {
        this.#mode = 'closed'
        this.#tail = json.slice(at + 1)
        at = json.length
      } else if (at < json.length) {
        const length = escapeLength(json, at)
        if (length === undefined) break
        text += readEscape(json.slice(at, at + length))
        at += length
      }
    }
    this.#rest = json.slice(at)
    return text
  }

  #takeRest(): string {
    const rest = this.#rest
    this.#rest = ''
    return rest
  }

  /** `isOpen`: the other half of a surrogate pair may follow. */
  #send(piece: string, isOpen: boolean): string {
    const text = this.#highSurrogate + piece
    const isHalf = isOpen && /[\ud800-\udbff]$/.test(text)
    this.#highSurrogate = isHalf ? text.slice(-1) : ''
    const sent = isHalf ? text.slice(0, -1) : text
    this.#text += sent
    return sent
  }
}

/** The text of a custom call whose arguments are complete. */
export function readInput(json: string): string {
  const decoder = new InputDecoder()
  return decoder.push(json) + decoder.end().delta
}

/** The position of the next quote or backslash, or the end. */
function nextStop(json: string, from: number): number {
  let at = from
  while (at < json.length && json[at] !== '"' && json[at] !== '\\') at += 1
  return at
}

/** The length of the escape at a position; undefined while it is incomplete. */
function escapeLength(json: string, at: number): number | undefined {
  const kind = json[at + 1]
  if (kind === undefined) return undefined
  if (kind !== 'u') return 2
  const digits = json.slice(at + 2, at + 6)
  if (!/^[0-9a-fA-F]*$/.test(digits)) return 2
  return digits.length === 4 ? 6 : undefined
}

/** The text of an escape; an invalid one stays as written. */
function readEscape(written: string): string {
  if (written.length === 6) return String.fromCharCode(Number.parseInt(written.slice(2), 16))
  return shortEscapes[written.slice(1)] ?? written
}

/** The rest of a text, and how the arguments were read; without `state`, they are exactly `{"input": "…"}`. */
type Ending = { readonly delta: string; readonly state?: Exclude<ToolCallState, 'ok'> }

type Streamed = {
  /** The text of the string, already sent. */
  readonly text: string
  /** The input after the string. */
  readonly tail: string
}

/** The end of arguments that began with `{"input": "…"`. */
function readStreamed(json: string, { text, tail }: Streamed): Ending {
  const value = parseJson(json)
  if (isObject(value)) return isInputOnly(value) && value.input === text ? { delta: '' } : { delta: '', state: 'repaired' }
  // The closing brace is missing, or the string has a line break or an escape that JSON does not allow.
  const isComplete = /^\s*\}?\s*$/.test(tail)
  return { delta: '', state: isComplete ? 'repaired' : 'unparseable' }
}

/** The text of arguments of another shape: the only string in them, or the arguments themselves. */
function readHeld(json: string): Ending {
  const value = parseJson(json)
  if (typeof value === 'string') return { delta: value, state: 'repaired' }
  if (!isObject(value)) return { delta: json, state: 'unparseable' }
  if (isInputOnly(value)) return { delta: value.input }
  const { input } = value
  if (input !== undefined) return { delta: typeof input === 'string' ? input : JSON.stringify(input), state: 'repaired' }
  const [only, ...others] = Object.values(value)
  if (others.length > 0) return { delta: json, state: 'unparseable' }
  if (only === undefined) return { delta: '', state: 'repaired' }
  return typeof only === 'string' ? { delta: only, state: 'repaired' } : { delta: json, state: 'unparseable' }
}

function isInputOnly(value: Readonly<Record<string, unknown>>): value is { readonly input: string } {
  return typeof value.input === 'string' && Object.keys(value).length === 1
}
