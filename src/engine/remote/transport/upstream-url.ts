/** The address of a route below `base`, which may have a query of its own (`?api-version=…`) and slashes at its end. */
export function urlOf(base: string, path: string): string {
  const [place, query] = splitQuery(base)
  const url = place.replace(/\/+$/, '') + path
  if (query === undefined) return url
  return url + (path.includes('?') ? '&' : '?') + query
}

/** The server's root: `url` without its last `/v1`. */
export function rootOf(url: string): string {
  const [place, query] = splitQuery(url)
  const root = place.replace(/\/+$/, '').replace(/\/v1$/, '')
  return query === undefined ? root : `${root}?${query}`
}

/** What a server is called in messages: never its key, nor its path. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'an address that is no URL'
}

function splitQuery(url: string): readonly [place: string, query: string | undefined] {
  const start = url.indexOf('?')
  return start === -1 ? [url, undefined] : [url.slice(0, start), url.slice(start + 1)]
}
