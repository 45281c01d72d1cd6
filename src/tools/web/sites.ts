import type { SiteRules, WebTerms } from '../../contract/request.ts'

/** The rules for what is found, or for what is read: each stands in for the other. */
export function rulesFor(what: 'searches' | 'pages', web: WebTerms | undefined): SiteRules | undefined {
  return what === 'searches' ? (web?.searches ?? web?.pages) : (web?.pages ?? web?.searches)
}

/** Whether rules admit an address. */
export function admits({ allowed, blocked = [] }: SiteRules, { hostname, pathname }: URL): boolean {
  const isAt = (site: string) => {
    const [host = '', ...path] = site.split('/')
    const prefix = path.join('/').replace(/\/$/, '')
    const own = hostname.replace(/\.$/, '')
    const isHost = `.${own}`.endsWith(`.${host.toLowerCase()}`)
    return isHost && (prefix === '' || pathname === `/${prefix}` || pathname.startsWith(`/${prefix}/`))
  }
  return (allowed === undefined || allowed.some(isAt)) && !blocked.some(isAt)
}

/** A query that asks a search engine for what the rules admit, in the words that most of them know. */
export function queryWithin(query: string, { allowed = [], blocked = [] }: SiteRules): string {
  const some = allowed.map((site) => `site:${site}`).join(' OR ')
  const sites = allowed.length > 1 ? `(${some})` : some
  return [query, sites, ...blocked.map((site) => `-site:${site}`)].filter((part) => part !== '').join(' ')
}
