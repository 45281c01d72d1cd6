import { z } from 'zod'
import type { SiteRules } from '../../contract/request.ts'
import { admits, queryWithin } from './sites.ts'

export type SearchService = {
  readonly kind: 'searxng' | 'brave' | 'tavily'
  /** Absent: the service's own. */
  readonly url?: string | undefined
  readonly apiKey?: string | undefined
}

type SearchResult = { readonly url: string; readonly title: string; readonly snippet: string }

type HttpRequest = {
  readonly method: 'GET' | 'POST'
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

type Wanted = {
  readonly count: number
  /** The rules of the request; absent: any site. */
  readonly rules?: SiteRules | undefined
}

type Adapter = {
  readonly ownUrl?: string
  request(query: string, terms: { readonly url: string; readonly apiKey: string } & Wanted): HttpRequest
  /** The results in a reply, in order; undefined for replies of another form. */
  read(reply: unknown): readonly unknown[] | undefined
  /** The advice to the operator for a status. */
  readonly advice?: Readonly<Record<number, string>>
}

const json = { accept: 'application/json' }
const listed = z.object({ results: z.array(z.unknown()) })
const found = z.object({ web: z.object({ results: z.array(z.unknown()) }).optional() })
const keyAdvice = { 401: 'the API key is not valid', 402: 'the plan is used up', 429: 'too many searches for the plan' }

const adapters: Readonly<Record<SearchService['kind'], Adapter>> = {
  searxng: {
    request: (query, { url, apiKey, rules }) => ({
      method: 'GET',
      url: withQuery(`${url.replace(/\/(search\/?)?$/, '')}/search`, { q: within(query, rules), format: 'json' }),
      headers: { ...json, ...(apiKey !== '' && { authorization: `Bearer ${apiKey}` }) },
    }),
    read: (reply) => listed.safeParse(reply).data?.results,
    advice: { 403: '`json` is not in `search.formats` of its settings.yml', 429: 'its limiter refuses this server' },
  },
  brave: {
    ownUrl: 'https://api.search.brave.com/res/v1/web/search',
    request: (query, { url, apiKey, count, rules }) => ({
      method: 'GET',
      url: withQuery(url, { q: within(query, rules), count: String(count) }),
      headers: { ...json, 'x-subscription-token': apiKey },
    }),
    read: (reply) => {
      const { data } = found.safeParse(reply)
      return data === undefined ? undefined : (data.web?.results ?? [])
    },
    advice: { ...keyAdvice, 422: 'the API key is not valid, or the query is not accepted' },
  },
  tavily: {
    ownUrl: 'https://api.tavily.com/search',
    request: (query, { url, apiKey, count, rules }) => ({
      method: 'POST',
      url: new URL(url),
      headers: { ...json, 'content-type': 'application/json', authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({
        query,
        max_results: count,
        ...(rules?.allowed !== undefined && { include_domains: rules.allowed.map(hostOf) }),
        // The service blocks whole sites; parts of sites are filtered here.
        ...(rules?.blocked !== undefined && { exclude_domains: rules.blocked.filter((site) => !site.includes('/')) }),
      }),
    }),
    read: (reply) => listed.safeParse(reply).data?.results,
    advice: { ...keyAdvice, 432: 'the plan is used up', 433: 'the plan is used up' },
  },
}

/** Rules discard some results, so this asks for the most that services return. */
const countWithin = 20

/** The request of a search. */
export function searchRequest({ kind, url, apiKey = '' }: SearchService, query: string, { count, rules }: Wanted): HttpRequest {
  const { ownUrl = '', request } = adapters[kind]
  const asked = rules === undefined ? count : Math.max(count, countWithin)
  return request(query, { url: url ?? ownUrl, apiKey, count: asked, rules })
}

function within(query: string, rules: SiteRules | undefined): string {
  return rules === undefined ? query : queryWithin(query, rules)
}

function hostOf(site: string): string {
  return site.split('/', 1)[0] ?? site
}

/** The meaning of a status other than 200. */
export function explainStatus({ kind }: SearchService, status: number): string {
  const advice = adapters[kind].advice?.[status]
  return `the search service answered with status ${status}${advice === undefined ? '' : `: ${advice}`}`
}

const fields = z.object({
  url: z.string().max(2048),
  title: z.string().nullish(),
  /** Brave's name for it. */
  description: z.string().nullish(),
  content: z.string().nullish(),
})
const maxTitle = 200
const maxSnippet = 600

/** The first results that the rules admit, each page once; undefined for replies of another form. */
export function readResults(
  { kind }: SearchService,
  reply: unknown,
  { count, rules = {} }: Wanted,
): readonly SearchResult[] | undefined {
  const entries = adapters[kind].read(reply)
  if (entries === undefined) return undefined
  const results = new Map<string, SearchResult>()
  for (const entry of entries) {
    if (results.size === count) break
    const { data } = fields.safeParse(entry)
    if (data === undefined || !/^https?:\/\//i.test(data.url) || !URL.canParse(data.url) || results.has(data.url)) continue
    if (!admits(rules, new URL(data.url))) continue
    const title = plain(data.title ?? '', maxTitle)
    const snippet = plain(data.description ?? data.content ?? '', maxSnippet)
    results.set(data.url, { url: data.url, title: title === '' ? data.url : title, snippet })
  }
  return [...results.values()]
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", '#x27': "'", nbsp: ' ' }

/** A text on one line, without the tags and entities that some services add. */
function plain(text: string, maxLength: number): string {
  const line = text
    .slice(0, 4 * maxLength)
    .replace(/<[^<>]*>/g, '')
    .replace(/&(#?\w{2,5});/g, (whole, name: string) => entities[name.toLowerCase()] ?? whole)
    .replace(/\s+/g, ' ')
    .trim()
  return line.length <= maxLength ? line : `${[...line].slice(0, maxLength).join('')}…`
}

function withQuery(url: string, query: Readonly<Record<string, string>>): URL {
  const found = new URL(url)
  for (const [name, value] of Object.entries(query)) found.searchParams.set(name, value)
  return found
}
