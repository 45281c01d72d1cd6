import { maxHeldChars, peek, type Reading, type TextFeed, upcoming } from './text-feed.ts'

/**
 * Consumes the text before the first of `stops`, without a limit unless it is held, and writes it as it arrives. False if there is no stop.
 */
export function* passTo(feed: TextFeed, stops: readonly string[], out: (text: string) => void): Reading<boolean> {
  const first = new Set(stops.map((stop) => stop[0]))
  while (true) {
    let end = feed.at
    while (end < feed.text.length && !first.has(feed.text[end])) end += 1
    if (end > feed.at) {
      const passed = feed.text.slice(feed.at, end)
      feed.at = end
      out(passed)
    }
    const next = yield* peek(feed)
    if (next === '' || feed.heldChars > maxHeldChars) return false
    if (!first.has(next)) continue
    if ((yield* upcoming(feed, stops)) !== undefined) return true
    feed.at += 1
    out(next)
  }
}
