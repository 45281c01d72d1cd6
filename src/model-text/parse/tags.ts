import type { TextFeed } from '../scan/text-feed.ts'

/** Texts to look for, longest first, and a search for the next place where one may begin. */
export type TagSet<Value> = {
  readonly list: readonly { readonly tag: string; readonly value: Value }[]
  /** The first place from `from` on where a mark may begin; the text's length when there is none. */
  search(text: string, from: number): number
}

/** Prepares marks to be looked for; of two that begin alike the longer is tried first. */
export function createTagSet<Value>(entries: readonly { readonly tag: string; readonly value: Value }[]): TagSet<Value> {
  const list = [...entries].sort((a, b) => b.tag.length - a.tag.length)
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

/** Whether all that is left of a text that was cut off is the beginning of a mark. */
export function isTruncatedTag<Value>({ list }: TagSet<Value>, feed: TextFeed): boolean {
  return feed.truncated && list.some(({ tag }) => tag.startsWith(feed.text.slice(feed.at)))
}

/** The mark that is next; `open` while the text may still become one that is longer than what there is. */
export function matchTag<Value>(
  { list }: TagSet<Value>,
  feed: TextFeed,
): { readonly tag: string; readonly value: Value } | 'open' | undefined {
  const here = feed.text.length - feed.at
  for (const entry of list) {
    if (entry.tag.length <= here) {
      if (feed.text.startsWith(entry.tag, feed.at)) return entry
    } else if (!feed.ended && entry.tag.startsWith(feed.text.slice(feed.at))) return 'open'
  }
  return undefined
}
