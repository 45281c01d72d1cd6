import type { TextFeed } from '../scan/text-feed.ts'

type Tagged<Value> = { readonly tag: string; readonly value: Value }

/** Tags to look for, longest first, and a search for the next character that may begin one. */
export type TagSet<Value> = {
  readonly list: readonly Tagged<Value>[]
  /** The first position from `from` on where a tag may begin; the text's length if there is none. */
  search(text: string, from: number): number
}

/** Prepares tags for searching; the longer of two with the same beginning is tried first. */
export function createTagSet<Value>(entries: readonly Tagged<Value>[]): TagSet<Value> {
  // The first of two with the same text counts.
  const list = [...new Map(entries.toReversed().map((entry) => [entry.tag, entry])).values()].sort(
    (a, b) => b.tag.length - a.tag.length,
  )
  const firstChars = [...new Set(list.map(({ tag }) => tag[0] as string))]
  if (firstChars.length === 0) return { list, search: (text) => text.length }
  const first = new RegExp(`[${firstChars.map((char) => char.replace(/[\\\]^-]/, '\\$&')).join('')}]`, 'g')
  return {
    list,
    search(text, from) {
      first.lastIndex = from
      return first.exec(text)?.index ?? text.length
    },
  }
}

/** The next tag; `wait` while the text may still become a longer one. */
export function matchTag<Value>({ list }: TagSet<Value>, feed: TextFeed): Tagged<Value> | 'no-tag' | 'wait' {
  const here = feed.text.length - feed.at
  for (const entry of list) {
    if (entry.tag.length <= here) {
      if (feed.text.startsWith(entry.tag, feed.at)) return entry
    } else if (!feed.ended && entry.tag.startsWith(feed.text.slice(feed.at))) return 'wait'
  }
  return 'no-tag'
}

/** The tag that the rest of a truncated text begins, if any. */
export function truncatedTag<Value>({ list }: TagSet<Value>, feed: TextFeed): Tagged<Value> | undefined {
  if (!feed.truncated) return undefined
  const rest = feed.text.slice(feed.at)
  return list.find(({ tag }) => tag.startsWith(rest))
}
