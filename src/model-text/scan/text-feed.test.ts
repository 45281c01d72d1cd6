import { describe, expect, test } from 'vitest'
import { completeFeed, readNow, until } from './text-feed.ts'

describe('until', () => {
  test.each([
    ['abc|', 'abc', '|'],
    ['abcd|', undefined, 'abcd|'],
  ])('with a limit of 3, the text before the stop in %j is %j', (text, found, rest) => {
    const feed = completeFeed(text)
    expect(readNow(until(feed, ['|'], 3))).toBe(found)
    expect(feed.text.slice(feed.at)).toBe(rest)
  })
})
