import { expect, test } from 'vitest'
import type { SiteRules } from '../../contract/request.ts'
import { admits, queryWithin, rulesFor } from './sites.ts'

test.each<[SiteRules, string, boolean]>([
  [{}, 'https://a.example/', true],
  [{ allowed: ['a.example'] }, 'https://a.example/x', true],
  [{ allowed: ['A.example'] }, 'https://www.a.EXAMPLE./x', true],
  [{ allowed: ['a.example'] }, 'https://nota.example/', false],
  [{ allowed: ['a.example'] }, 'https://a.example.evil.example/', false],
  [{ allowed: ['a.example'] }, 'https://evil.example/?a.example', false],
  [{ allowed: [] }, 'https://a.example/', false],
  [{ allowed: ['a.example/blog'] }, 'https://a.example/blog', true],
  [{ allowed: ['a.example/blog/'] }, 'https://a.example/blog/1', true],
  [{ allowed: ['a.example/blog'] }, 'https://a.example/blogs', false],
  [{ blocked: ['a.example'] }, 'https://b.example/', true],
  [{ blocked: ['a.example'] }, 'https://x.a.example/', false],
  [{ allowed: ['a.example'], blocked: ['a.example/private'] }, 'https://a.example/private/1', false],
  [{ blocked: ['a.example/secret'] }, 'https://a.example/%73ecret', false],
  [{ blocked: ['a.example/secret'] }, 'https://a.example/%73ecret/1', false],
  [{ blocked: ['a.example/secret'] }, 'https://a.example//secret', false],
  [{ blocked: ['a.example/secret'] }, 'https://a.example/x%2f..%2fsecret', false],
  [{ blocked: ['a.example/secret'] }, 'https://a.example/secret/%2f..%2f..%2fx', false],
  [{ blocked: ['a.example/%73ecret'] }, 'https://a.example/secret', false],
  [{ blocked: ['a.example/secret'] }, 'https://a.example/%2573ecret', true],
  [{ allowed: ['a.example/docs'] }, 'https://a.example/docs/%2e%2e/secret', false],
  [{ allowed: ['a.example/docs'] }, 'https://a.example/docs/..%2fsecret', false],
  [{ allowed: ['a.example/docs'] }, 'https://a.example/secret%2f..%2fdocs', false],
  [{ allowed: ['a.example/café'] }, 'https://a.example/caf%C3%A9/1', true],
  [{ allowed: ['a.example/caf%C3%A9'] }, 'https://a.example/café', true],
  [{ allowed: ['a.example'] }, 'https://a.example/a%2fb', true],
  [{ allowed: ['a.example/docs'] }, 'https://a.example/docs/%ff', true],
])('%j and %s: %j', (rules, url, expected) => {
  expect(admits(rules, new URL(url))).toBe(expected)
})

test('a query names the sites', () => {
  expect(queryWithin('q', { allowed: ['a.example'] })).toBe('q site:a.example')
  expect(queryWithin('q', { allowed: ['a.example', 'b.example'], blocked: ['c.example'] })).toBe(
    'q (site:a.example OR site:b.example) -site:c.example',
  )
  expect(queryWithin('q', {})).toBe('q')
})

test('rules for searches hold for pages, and those for pages for searches, where there are no others', () => {
  const [a, b] = [{ allowed: ['a'] }, { allowed: ['b'] }]
  expect([rulesFor('pages', { searches: a }), rulesFor('searches', { pages: b })]).toEqual([a, b])
  expect([rulesFor('pages', { searches: a, pages: b }), rulesFor('searches', { searches: a, pages: b })]).toEqual([b, a])
  expect(rulesFor('pages', undefined)).toBeUndefined()
})
