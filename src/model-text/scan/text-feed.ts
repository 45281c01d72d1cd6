/**
 * Text that arrives in pieces and is read by coroutines: a reader yields when it needs text that is not here yet, and decides
 * nothing before it is here, so that where the text was cut makes no difference. Positions count from `at`: what lies before
 * it and before `mark` is dropped as text arrives.
 */
export class TextFeed {
  text = ''
  /** The next character to read. */
  at = 0
  /** No more will come. */
  ended = false
  /** It was cut off, by a limit or a stop text, so what is open is not to be completed. */
  truncated = false
  #heldFrom = -1

  /** Adds a piece; what was read, and is not kept by `hold()`, is forgotten. */
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

  /** Keeps the text from here on, until `release()` or `rewind()`. */
  hold(): void {
    this.#heldFrom = this.at
  }

  release(): void {
    this.#heldFrom = -1
  }

  /** Goes back to the mark: what was read since is read again. */
  rewind(): void {
    if (this.#heldFrom !== -1) this.at = this.#heldFrom
    this.#heldFrom = -1
  }

  /** How much was read since the mark. */
  get heldChars(): number {
    return this.#heldFrom === -1 ? 0 : this.at - this.#heldFrom
  }
}

/** As much text as is kept back for what may be a call: then it is text. */
export const maxHeldChars = 65_536

/** A reader's part of the work: it yields to wait for text. */
export type Reading<T> = Generator<void, T, void>

/** A feed that holds all of a text. */
export function completeFeed(text: string): TextFeed {
  const feed = new TextFeed()
  feed.push(text)
  feed.end(false)
  return feed
}

/** Runs a reading over a complete feed. */
export function readNow<T>(reading: Reading<T>): T {
  const step = reading.next()
  if (step.done !== true) throw new Error('a reading waited for text on a feed that had ended')
  return step.value
}

/** Waits for `count` characters; false when the text ends before. */
export function* ensure(feed: TextFeed, count: number): Reading<boolean> {
  while (feed.text.length - feed.at < count) {
    if (feed.ended) return false
    yield
  }
  return true
}

/** The next character, not consumed; empty at the end. */
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

/** Consumes a text if it is next; waits only as long as it still may be. */
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

/** Which of the texts is next, if one is; nothing is consumed. The first that is there wins. */
export function* upcoming(feed: TextFeed, literals: readonly string[]): Reading<string | undefined> {
  while (true) {
    const rest = feed.text.slice(feed.at)
    const open = !feed.ended && literals.some((literal) => literal.length > rest.length && literal.startsWith(rest))
    if (!open) return literals.find((literal) => rest.startsWith(literal))
    yield
  }
}

/** Consumes white space and one of the texts after it, or nothing; says which. The longest that is there wins. */
export function* acceptAfterSpace(feed: TextFeed, literals: readonly string[]): Reading<string | undefined> {
  const found = yield* findAfterSpace(feed, literals)
  if (found === undefined) return undefined
  feed.at += found.ahead + found.literal.length
  return found.literal
}

/** Whether one of the texts, or the end, comes after white space; nothing is consumed. */
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

/** The text before the first of `stops`, which is not consumed; undefined, with nothing consumed, when none comes. */
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

/** Puts pieces of text together, for readers that write theirs away as it comes. */
export function collectText(): { text: string; readonly out: (piece: string) => void } {
  const collected = {
    text: '',
    out: (piece: string) => {
      collected.text += piece
    },
  }
  return collected
}

/** JSON's white space and the other kinds that models write. */
export function isSpace(char: string): boolean {
  return char === ' ' || char === '\n' || char === '\t' || char === '\r'
}

/** What may stand around a text that is spoken of. */
export function isQuote(char: string): boolean {
  return char === '`' || char === '"' || char === "'"
}

function longest(literals: readonly string[]): string | undefined {
  return literals.reduce<string | undefined>(
    (best, literal) => (best === undefined || literal.length > best.length ? literal : best),
    undefined,
  )
}
