import { decodeUri } from '../../base/text/decode-uri.ts'
import type { SiteRules, WebTerms } from '../../contract/request.ts'

/** The rules for search results, or for pages to read; each falls back to the other. */
export function rulesFor(what: 'searches' | 'pages', web: WebTerms | undefined): SiteRules | undefined {
  return what === 'searches' ? (web?.searches ?? web?.pages) : (web?.pages ?? web?.searches)
}

/** Whether rules admit an address, in any spelling of its path: a server decodes it. */
export function admits({ allowed, blocked = [] }: SiteRules, { hostname, pathname }: URL): boolean {
  const own = hostname.replace(/\.$/, '')
  const plain = decodedPath(pathname)
  const hidesSlash = /%(2f|5c)/i.test(pathname)
  const isAt = (site: string, isBelow: (prefix: string) => boolean) => {
    const [host = '', ...path] = site.split('/')
    const prefix = decodedPath(`/${path.join('/')}`).replace(/\/$/, '')
    return `.${own}`.endsWith(`.${host.toLowerCase()}`) && (prefix === '' || isBelow(prefix))
  }
  const isWithin = (asked: string, prefix: string) => asked === prefix || asked.startsWith(`${prefix}/`)
  // Servers differ about an encoded slash: any path that it may lead to must be allowed, and none blocked.
  const isAllowed = (site: string) => isAt(site, (prefix) => isWithin(plain, prefix) && !hidesSlash)
  const isBlocked = (site: string) => isAt(site, (prefix) => isWithin(plain, prefix) || isWithin(pathname, prefix))
  return (allowed === undefined || allowed.some(isAllowed)) && !blocked.some(isBlocked)
}

/** A path without percent-encoding, and without the dots and empty segments that it may hide. */
function decodedPath(path: string): string {
  const parts: string[] = []
  for (const part of decodeUri(path).split(/[/\\]+/)) {
    if (part === '..') parts.pop()
    else if (part !== '.' && part !== '') parts.push(part)
  }
  return `/${parts.join('/')}`
}

/** A query that asks a search engine for sites that the rules admit, in the syntax that most of them know. */
export function queryWithin(query: string, { allowed = [], blocked = [] }: SiteRules): string {
  const some = allowed.map((site) => `site:${site}`).join(' OR ')
  const sites = allowed.length > 1 ? `(${some})` : some
  return [query, sites, ...blocked.map((site) => `-site:${site}`)].filter((part) => part !== '').join(' ')
}
