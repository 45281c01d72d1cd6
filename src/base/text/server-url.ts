/** The URL of a route below `base`, which may have a query (`?api-version=…`) and trailing slashes. */
export function urlOf(base: string, path: string): string {
  const [address, query] = splitQuery(base)
  const url = address.replace(/\/+$/, '') + path
  if (query === undefined) return url
  return url + (path.includes('?') ? '&' : '?') + query
}

/** The server's root: `url` without its last `/v1`. */
export function rootOf(url: string): string {
  const [address, query] = splitQuery(url)
  const root = address.replace(/\/+$/, '').replace(/\/v1$/, '')
  return query === undefined ? root : `${root}?${query}`
}

export const hasPath = (url: string) => new URL(url).pathname !== '/'

/** The name of a server in messages: without key and path. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'an address that is not a URL'
}

function splitQuery(url: string): readonly [address: string, query: string | undefined] {
  const start = url.indexOf('?')
  return start === -1 ? [url, undefined] : [url.slice(0, start), url.slice(start + 1)]
}
