/** One dispatched event. `event` is absent if the stream did not name it. */
export type SseEvent = { readonly event?: string; readonly data: string }

const lf = 0x0a

/**
 * Turns the bytes of an event stream into events by the WHATWG rules, linear in the number of bytes however they are split. Ignores ids.
 * Throws what `refuse` makes of an event of more than `maxLength` characters.
 */
// Why not eventsource-parser 3.1: a chunk with one CR costs it the square of the chunk's size, each line with an unknown field
// an Error with its stack, and an event that ends in CR waits for the next chunk.
export class SseDecoder {
  readonly #refuse: (what: string) => Error
  readonly #maxLength: number
  /** Created for the first piece that does not end in ASCII; until then, a faster way suffices. */
  #text: InstanceType<typeof TextDecoder> | undefined
  #hasBegun = false
  /** The start of an incomplete line; joined once, when its end arrives. */
  #held: string[] = []
  #heldLength = 0
  #afterCr = false
  #event: string | undefined
  #data: string[] = []
  #dataLength = 0

  constructor(refuse: (what: string) => Error = Error, maxLength = 16 * 1024 * 1024) {
    this.#refuse = refuse
    this.#maxLength = maxLength
  }

  /** The events that these bytes complete. The bytes are not kept: the caller may overwrite them. */
  push(bytes: Uint8Array): readonly SseEvent[] {
    const text = this.#decode(bytes)
    const events: SseEvent[] = []
    if (text === '') return events
    let start = this.#afterCr && text.charCodeAt(0) === lf ? 1 : 0
    this.#afterCr = false
    // Each search continues from its last hit, so that each character is read once for LF and once for CR.
    let nextLf = text.indexOf('\n', start)
    let nextCr = text.indexOf('\r', start)
    while (nextLf !== -1 || nextCr !== -1) {
      const isCr = nextCr !== -1 && (nextLf === -1 || nextCr < nextLf)
      const end = isCr ? nextCr : nextLf
      this.#endLine(text.slice(start, end), events)
      start = end + 1
      if (isCr) {
        if (start === text.length) this.#afterCr = true
        else if (text.charCodeAt(start) === lf) start += 1
        nextCr = text.indexOf('\r', start)
      }
      if (nextLf !== -1 && nextLf < start) nextLf = text.indexOf('\n', start)
    }
    this.#hold(text.slice(start))
    return events
  }

  /** Also drops a byte order mark. */
  #decode(bytes: Uint8Array): string {
    const text = this.#read(bytes)
    if (this.#hasBegun || text === '') return text
    this.#hasBegun = true
    return text.startsWith('\ufeff') ? text.slice(1) : text
  }

  #read(bytes: Uint8Array): string {
    const last = bytes.at(-1)
    if (last === undefined) return ''
    if (this.#text === undefined) {
      if (last < 0x80) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
      // Node 26 drops two marks if the first comes in pieces.
      this.#text = new TextDecoder('utf-8', { ignoreBOM: true })
    }
    return this.#text.decode(bytes, { stream: true })
  }

  #hold(part: string): void {
    if (part === '') return
    this.#held.push(part)
    this.#heldLength += part.length
    this.#checkLength()
  }

  #takeHeld(): string {
    const line = this.#held.length === 1 ? (this.#held[0] ?? '') : this.#held.join('')
    this.#held = []
    this.#heldLength = 0
    return line
  }

  #endLine(lastPart: string, events: SseEvent[]): void {
    if (this.#heldLength === 0) {
      this.#onLine(lastPart, events)
      return
    }
    this.#held.push(lastPart)
    this.#onLine(this.#takeHeld(), events)
  }

  #onLine(line: string, events: SseEvent[]): void {
    if (line === '') {
      this.#dispatch(events)
      return
    }
    const colon = line.indexOf(':')
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    // A comment has an empty name and is ignored, like every unknown name.
    switch (colon === -1 ? line : line.slice(0, colon)) {
      case 'data':
        this.#data.push(value)
        this.#dataLength += value.length + 1
        this.#checkLength()
        return
      case 'event':
        this.#event = value === '' ? undefined : value
    }
  }

  #checkLength(): void {
    if (this.#heldLength + this.#dataLength > this.#maxLength)
      throw this.#refuse(`an event of more than ${this.#maxLength} characters`)
  }

  #dispatch(events: SseEvent[]): void {
    const event = this.#event
    this.#event = undefined
    if (this.#data.length === 0) return
    const data = this.#data.length === 1 ? (this.#data[0] ?? '') : this.#data.join('\n')
    this.#data = []
    this.#dataLength = 0
    events.push(event === undefined ? { data } : { event, data })
  }
}
