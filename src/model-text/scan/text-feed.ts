/**
 * Text that arrives in pieces and is read by coroutines. A reader yields when its next decision depends on text that has not
 * arrived, so the result is the same for every split into pieces. Text before `at` is forgotten as more arrives, unless held.
 */
export class TextFeed {
  text = ''
  /** The next character to read. */
  at = 0
  /** No more text will arrive. */
  ended = false
  /** The text ended at a limit or a stop sequence: open blocks must not be completed. */
  truncated = false
  /** A reader met the end of the text while it needed more, since this was last set to false. */
  starved = false
  /**
   * Where the truncated text ends in the beginning of a tag that a reader looked for, including white space in front of it, as a
   * `position`; -1 if it does not.
   */
  cutAt = -1
  #heldFrom = -1
  /** Where `attempt()` was called. */
  #attemptFrom = -1
  #attemptIsLimited = false
  /** The number of characters that were forgotten. */
  #forgotten = 0
  /** The recorded text that was forgotten. */
  #record = ''
  /** Where the record begins, as a `position`; -1 without one. */
  #recordFrom = -1

  /** Adds a piece; text that was read and is not held is forgotten. */
  push(piece: string): void {
    let from = this.at
    if (this.#heldFrom !== -1) from = Math.min(from, this.#heldFrom)
    if (this.#attemptFrom !== -1) from = Math.min(from, this.#attemptFrom)
    if (this.#recordFrom !== -1) {
      this.#record += this.text.slice(Math.max(0, this.#recordFrom + this.#record.length - this.#forgotten), from)
    }
    this.text = from === this.text.length ? piece : this.text.slice(from) + piece
    this.#forgotten += from
    this.at -= from
    if (this.#heldFrom !== -1) this.#heldFrom -= from
    if (this.#attemptFrom !== -1) this.#attemptFrom -= from
  }

  /** How many characters of the whole text were read. */
  get position(): number {
    return this.#forgotten + this.at
  }

  /** Records the text from here on, for `recorded()`. */
  record(): void {
    this.#record = ''
    this.#recordFrom = this.position
  }

  /** The text read since `record()` or, if given, since this position. */
  recorded(from = this.#recordFrom): string {
    const here = this.text.slice(Math.max(0, this.#recordFrom + this.#record.length - this.#forgotten), this.at)
    return (this.#record + here).slice(from - this.#recordFrom)
  }

  stopRecord(): void {
    this.#record = ''
    this.#recordFrom = -1
  }

  /** Keeps the text from here on, regardless of holds and releases, until `commit()` or `giveUp()`. */
  attempt(): void {
    this.#attemptFrom = this.at
    this.#attemptIsLimited = false
  }

  /** Limits the attempt to the length of held text. */
  limitAttempt(): void {
    this.#attemptIsLimited = true
  }

  /** Ends an attempt: its text stays read. */
  commit(): void {
    this.#attemptFrom = -1
  }

  /** Ends an attempt, and returns to where it began. Returns the number of characters read in it. */
  giveUp(): number {
    const read = this.at - this.#attemptFrom
    this.at = this.#attemptFrom
    this.#attemptFrom = -1
    this.#heldFrom = -1
    this.stopRecord()
    return read
  }

  /** The number of characters that were read in the attempt. */
  get attemptedChars(): number {
    return this.#attemptFrom === -1 ? 0 : this.at - this.#attemptFrom
  }

  end(truncated: boolean): void {
    this.ended = true
    this.truncated = truncated
  }

  /** Holds the text from here on, until `release()` or `rewind()`. */
  hold(): void {
    this.#heldFrom = this.at
  }

  /** Gives up the held text: it stays read. */
  release(): void {
    this.#heldFrom = -1
  }

  /** Returns to where the held text begins, to read it again. */
  rewind(): void {
    if (this.#heldFrom !== -1) this.at = this.#heldFrom
    this.#heldFrom = -1
  }

  /** The number of held characters that were read, including those of a limited attempt. */
  get heldChars(): number {
    const from = this.#attemptIsLimited && this.#attemptFrom !== -1 ? this.#attemptFrom : this.#heldFrom
    return from === -1 ? 0 : this.at - from
  }
}

/** The most characters held for a possible call; beyond that they are text. */
export const maxHeldChars = 65_536

/** A coroutine that reads from a feed; it yields to wait for text. */
export type Reading<T> = Generator<void, T, void>

export function completeFeed(text: string): TextFeed {
  const feed = new TextFeed()
  feed.push(text)
  feed.end(false)
  return feed
}

/** Runs a reading over a complete feed. */
export function readNow<T>(reading: Reading<T>): T {
  const step = reading.next()
  if (step.done !== true) throw new Error('a reading waited for text on a complete feed')
  return step.value
}

/** Waits for `count` characters; false when the text ends first. */
export function* ensure(feed: TextFeed, count: number): Reading<boolean> {
  while (feed.text.length - feed.at < count) {
    if (feed.ended) {
      feed.starved = true
      return false
    }
    yield
  }
  return true
}

/** The next character, which is not consumed; empty at the end. */
export function* peek(feed: TextFeed): Reading<string> {
  while (feed.at >= feed.text.length) {
    if (feed.ended) {
      feed.starved = true
      return ''
    }
    yield
  }
  return feed.text[feed.at] as string
}

/** Consumes white space and returns it. */
export function* space(feed: TextFeed): Reading<string> {
  let skipped = ''
  while (true) {
    const next = yield* peek(feed)
    if (next === '' || !isSpace(next)) return skipped
    skipped += next
    feed.at += 1
  }
}

/** Consumes a literal if it is next; waits only while the text may still become it. */
export function* accept(feed: TextFeed, literal: string): Reading<boolean> {
  while (true) {
    const here = feed.text.length - feed.at
    if (here >= literal.length) {
      if (!feed.text.startsWith(literal, feed.at)) return false
      feed.at += literal.length
      return true
    }
    if (!literal.startsWith(feed.text.slice(feed.at))) return false
    if (feed.ended) {
      feed.starved = true
      return false
    }
    yield
  }
}

/** The next literal, if any; consumes nothing. The first that matches wins. */
export function* upcoming(feed: TextFeed, literals: readonly string[]): Reading<string | undefined> {
  while (true) {
    const rest = feed.text.slice(feed.at)
    const open = literals.some((literal) => literal.length > rest.length && literal.startsWith(rest))
    if (open && feed.ended) feed.starved = true
    if (!open || feed.ended) return literals.find((literal) => rest.startsWith(literal))
    yield
  }
}

/** Consumes white space and a literal after it, and returns the literal; or consumes nothing. The longest match wins. */
export function* acceptAfterSpace(feed: TextFeed, literals: readonly string[]): Reading<string | undefined> {
  const found = yield* findAfterSpace(feed, literals)
  if (found === undefined) return undefined
  feed.at += found.ahead + found.literal.length
  return found.literal
}

/** Whether a literal, or the end, comes after optional white space, `from` characters ahead; consumes nothing. */
export function* followedBy(feed: TextFeed, literals: readonly string[], from = 0): Reading<boolean> {
  const found = yield* findAfterSpace(feed, literals, from)
  return found !== undefined || (feed.ended && feed.text.slice(feed.at + from).trim() === '')
}

function* findAfterSpace(
  feed: TextFeed,
  literals: readonly string[],
  from = 0,
): Reading<{ readonly literal: string; readonly ahead: number } | undefined> {
  let ahead = from
  while (true) {
    while (ahead < feed.text.length - feed.at && isSpace(feed.text[feed.at + ahead] as string)) ahead += 1
    const rest = feed.text.slice(feed.at + ahead)
    const open = rest === '' || literals.some((literal) => literal.length > rest.length && literal.startsWith(rest))
    if (open && feed.ended) feed.starved = true
    if (open && feed.ended && feed.truncated && rest !== '' && from === 0) feed.cutAt = feed.position
    if (!open || feed.ended) {
      const literal = longest(literals.filter((candidate) => rest.startsWith(candidate)))
      return literal === undefined ? undefined : { literal, ahead }
    }
    yield
  }
}

/** Consumes the text before the first of `stops`; undefined, with nothing consumed, if none comes within `limit`. */
export function* until(feed: TextFeed, stops: readonly string[], limit = maxHeldChars): Reading<string | undefined> {
  const longestStop = Math.max(...stops.map((stop) => stop.length))
  let searched = 0
  while (true) {
    const text = feed.text.slice(feed.at, feed.at + limit + longestStop)
    const starts = stops.map((stop) => text.indexOf(stop, searched)).filter((start) => start !== -1)
    if (starts.length > 0) {
      const start = Math.min(...starts)
      if (start > limit) return undefined
      const found = text.slice(0, start)
      feed.at += found.length
      return found
    }
    searched = Math.max(0, text.length - longestStop + 1)
    if (searched > limit) return undefined
    if (feed.ended) {
      feed.starved = true
      return undefined
    }
    yield
  }
}

/** Joins pieces of text, for readers that write as they read. */
export function collectText(): { text: string; readonly out: (piece: string) => void } {
  const collected = {
    text: '',
    out: (piece: string) => {
      collected.text += piece
    },
  }
  return collected
}

/** White space as JSON defines it. */
export function isSpace(char: string): boolean {
  return char === ' ' || char === '\n' || char === '\t' || char === '\r'
}

/** A quote or a backtick, as around a tag that is only mentioned. */
export function isQuote(char: string): boolean {
  return char === '`' || char === '"' || char === "'"
}

function longest(literals: readonly string[]): string | undefined {
  return literals.reduce<string | undefined>(
    (best, literal) => (best === undefined || literal.length > best.length ? literal : best),
    undefined,
  )
}
