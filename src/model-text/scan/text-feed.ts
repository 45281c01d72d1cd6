/**
 * Text that arrives in pieces and is read by coroutines. A reader yields when its next decision depends on text that has not
 * arrived, so the result is the same for every split into pieces. Text before `at` is forgotten as more arrives, unless held.
 */
export class TextFeed {
  text = ''
  /** The next character to read. */
  at = 0
  /** No more will come. */
  ended = false
  /** The text ended at a limit or a stop sequence: what is open must not be completed. */
  truncated = false
  #heldFrom = -1

  /** Adds a piece; text that was read and is not held is forgotten. */
  push(piece: string): void {
    const from = this.#heldFrom === -1 ? this.at : this.#heldFrom
    this.text = from === this.text.length ? piece : this.text.slice(from) + piece
    this.at -= from
    if (this.#heldFrom !== -1) this.#heldFrom = 0
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

  /** Goes back to where the held text begins, to read it again. */
  rewind(): void {
    if (this.#heldFrom !== -1) this.at = this.#heldFrom
    this.#heldFrom = -1
  }

  /** The number of held characters that were read. */
  get heldChars(): number {
    return this.#heldFrom === -1 ? 0 : this.at - this.#heldFrom
  }
}

/** The most characters that are held for what may be a call; beyond that they are text. */
export const maxHeldChars = 65_536

/** A coroutine that reads from a feed; it yields to wait for text. */
export type Reading<T> = Generator<void, T, void>

/** A feed of a complete text. */
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
    if (feed.ended) return false
    yield
  }
  return true
}

/** The next character, which is not consumed; empty at the end. */
export function* peek(feed: TextFeed): Reading<string> {
  while (feed.at >= feed.text.length) {
    if (feed.ended) return ''
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
    if (feed.ended || !literal.startsWith(feed.text.slice(feed.at))) return false
    yield
  }
}

/** The literal that is next, if any; nothing is consumed. The first that matches wins. */
export function* upcoming(feed: TextFeed, literals: readonly string[]): Reading<string | undefined> {
  while (true) {
    const rest = feed.text.slice(feed.at)
    const open = !feed.ended && literals.some((literal) => literal.length > rest.length && literal.startsWith(rest))
    if (!open) return literals.find((literal) => rest.startsWith(literal))
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

/** Whether a literal, or the end, comes after optional white space; nothing is consumed. */
export function* followedBy(feed: TextFeed, literals: readonly string[]): Reading<boolean> {
  const found = yield* findAfterSpace(feed, literals)
  return found !== undefined || (feed.ended && feed.text.slice(feed.at).trim() === '')
}

function* findAfterSpace(
  feed: TextFeed,
  literals: readonly string[],
): Reading<{ readonly literal: string; readonly ahead: number } | undefined> {
  let ahead = 0
  while (true) {
    while (ahead < feed.text.length - feed.at && isSpace(feed.text[feed.at + ahead] as string)) ahead += 1
    const rest = feed.text.slice(feed.at + ahead)
    const open = literals.some((literal) => literal.length > rest.length && literal.startsWith(rest))
    if (!open || feed.ended) {
      const literal = longest(literals.filter((candidate) => rest.startsWith(candidate)))
      return literal === undefined ? undefined : { literal, ahead }
    }
    yield
  }
}

/** Consumes the text before the first of `stops`; undefined, with nothing consumed, when none comes within `limit`. */
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
    if (feed.ended || searched > limit) return undefined
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
