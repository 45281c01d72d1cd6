import { followedBy, type Reading, type TextFeed, upcoming } from './text-feed.ts'

/** A tag that ends arguments. Inside a string it does so only in front of one of `before`, or at the end of the text. */
export type EndMark = { readonly tag: string; readonly before: readonly string[] }

export class EndMarks {
  /** The characters that a mark may begin with. */
  readonly firstChars: string
  readonly #tags: readonly string[]
  readonly #marks: readonly EndMark[]

  constructor(marks: readonly EndMark[]) {
    this.#marks = [...marks].sort((a, b) => b.tag.length - a.tag.length)
    this.#tags = this.#marks.map(({ tag }) => tag)
    this.firstChars = [...new Set(this.#tags.map((tag) => tag[0]))].join('')
  }

  /** Whether a mark is next; nothing is consumed. */
  *areNext(feed: TextFeed): Reading<boolean> {
    const char = feed.text[feed.at]
    if (char === undefined || !this.firstChars.includes(char)) return false
    return (yield* upcoming(feed, this.#tags)) !== undefined
  }

  /** Whether a mark is next that ends arguments even in the middle of a string; nothing is consumed. */
  *endString(feed: TextFeed): Reading<boolean> {
    const char = feed.text[feed.at]
    if (char === undefined || !this.firstChars.includes(char)) return false
    const tag = yield* upcoming(feed, this.#tags)
    const mark = this.#marks.find((each) => each.tag === tag)
    if (mark === undefined) return false
    // Arguments are never held, so the mark of the feed is free here.
    return yield* followedBy(feed, mark.before, mark.tag.length)
  }
}

export const noEndMarks = new EndMarks([])
