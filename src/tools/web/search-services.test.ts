import { describe, expect, test } from 'vitest'
import { explainStatus, readResults, type SearchService, searchRequest } from './search-services.ts'

describe('the request to', () => {
  test.each(['http://search.local:8080', 'http://search.local:8080/', 'http://search.local:8080/search'])(
    'SearXNG at %s',
    (url) => {
      const { method, url: asked, headers } = searchRequest({ kind: 'searxng', url }, 'a & b', { count: 5 })
      expect([method, asked.href]).toEqual(['GET', 'http://search.local:8080/search?q=a+%26+b&format=json'])
      expect(headers).toEqual({ accept: 'application/json' })
    },
  )

  test('SearXNG behind a path and a token', () => {
    const { url, headers } = searchRequest({ kind: 'searxng', url: 'https://x.example/searx', apiKey: 'k' }, 'q', { count: 5 })
    expect(url.href).toBe('https://x.example/searx/search?q=q&format=json')
    expect(headers).toMatchObject({ authorization: 'Bearer k' })
  })

  test('a request to Brave has the key in a header', () => {
    const { method, url, headers } = searchRequest({ kind: 'brave', apiKey: 'k' }, 'q', { count: 5 })
    expect([method, url.href]).toEqual(['GET', 'https://api.search.brave.com/res/v1/web/search?q=q&count=5'])
    expect(headers).toEqual({ accept: 'application/json', 'x-subscription-token': 'k' })
  })

  test('a request to Tavily has the query in its body', () => {
    const { method, url, headers, body } = searchRequest({ kind: 'tavily', apiKey: 'k' }, 'q', { count: 5 })
    expect([method, url.href]).toEqual(['POST', 'https://api.tavily.com/search'])
    expect(headers).toMatchObject({ authorization: 'Bearer k', 'content-type': 'application/json' })
    expect(JSON.parse(body ?? '')).toEqual({ query: 'q', max_results: 5 })
  })
})

const entry = { url: 'https://a.example/', title: 'A' }

test.each<[SearchService['kind'], unknown]>([
  ['searxng', { query: 'q', results: [{ ...entry, content: 'words', engine: 'x' }] }],
  ['brave', { type: 'search', web: { results: [{ ...entry, description: '<strong>wor</strong>ds' }] } }],
  ['tavily', { results: [{ ...entry, content: 'words', score: 0.9 }] }],
])('results of %s are their title, address and snippet', (kind, reply) => {
  expect(readResults({ kind }, reply, { count: 5 })).toEqual([{ ...entry, snippet: 'words' }])
})

test('a search of Brave without pages has no results; another form is not a reply', () => {
  expect(readResults({ kind: 'brave' }, { type: 'search' }, { count: 5 })).toEqual([])
  for (const reply of [undefined, 'x', [], {}, { results: 'x' }])
    expect(readResults({ kind: 'searxng' }, reply, { count: 5 })).toBeUndefined()
})

test('each page is there once, entries without an address of the web are not, and there are as many as asked for', () => {
  const results = [
    { url: 'javascript:alert(1)', title: 'no' },
    { title: 'no address' },
    'no object',
    entry,
    { ...entry, title: 'the same' },
    { url: 'https://b.example/', title: null, content: null },
    { url: 'https://c.example/', title: 'C' },
  ]
  expect(readResults({ kind: 'searxng' }, { results }, { count: 2 })).toEqual([
    { ...entry, snippet: '' },
    { url: 'https://b.example/', title: 'https://b.example/', snippet: '' },
  ])
})

test('texts of results are one line, without tags, and bounded', () => {
  const [result] =
    readResults(
      { kind: 'searxng' },
      { results: [{ ...entry, title: 'A\n<b>&amp;</b> B', content: 'x'.repeat(9999) }] },
      { count: 5 },
    ) ?? []
  expect(result?.title).toBe('A & B')
  expect(result?.snippet).toHaveLength(601)
})

test('a status says what the operator can do', () => {
  expect(explainStatus({ kind: 'searxng' }, 403)).toContain('`json` is not in `search.formats`')
  expect(explainStatus({ kind: 'brave' }, 401)).toContain('the API key is not valid')
  expect(explainStatus({ kind: 'tavily' }, 500)).toBe('the search service answered with status 500')
})

const rules = { allowed: ['a.example', 'b.example/blog'], blocked: ['c.example', 'a.example/x'] }

test.each<SearchService['kind']>(['searxng', 'brave'])('rules for sites are in the query to %s', (kind) => {
  const { url } = searchRequest({ kind, url: 'http://s.local' }, 'q', { count: 5, rules })
  expect(url.searchParams.get('q')).toBe('q (site:a.example OR site:b.example/blog) -site:c.example -site:a.example/x')
})

test('Tavily gets the hosts of rules, and blocks only what is blocked as a whole', () => {
  const { body } = searchRequest({ kind: 'tavily', apiKey: 'k' }, 'q', { count: 5, rules })
  expect(JSON.parse(body ?? '')).toEqual({
    query: 'q',
    max_results: 20,
    include_domains: ['a.example', 'b.example'],
    exclude_domains: ['c.example'],
  })
})

test('results that the rules do not admit are left out, also where the service does not know rules', () => {
  const results = [
    'https://evil.example/',
    'https://b.example/',
    'https://b.example/blog/1',
    'http://[',
    'https://a.example/',
  ].map((url) => ({ url, title: url }))
  expect(readResults({ kind: 'searxng' }, { results }, { count: 5, rules })?.map(({ url }) => url)).toEqual([
    'https://b.example/blog/1',
    'https://a.example/',
  ])
})
