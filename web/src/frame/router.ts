import { computed, signal } from '@preact/signals'

/** Where the reader is: `#/place/part/…?name=value`. Addresses are fragments: they work below every prefix, and no route is in their way. */
type Address = {
  readonly place: string
  readonly parts: readonly string[]
  readonly query: Readonly<Record<string, string>>
}

function parseAddress(hash: string): Address {
  const [path = '', search = ''] = hash.replace(/^#?\/?/, '').split('?', 2)
  const [place = '', ...parts] = path.split('/').map(decode)
  return { place, parts: parts.filter((part) => part !== ''), query: Object.fromEntries(new URLSearchParams(search)) }
}

/** The link to an address; values that are undefined or empty are left out. */
export function linkTo(
  place: string,
  parts: readonly string[] = [],
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const path = [place, ...parts].map(encodeURIComponent).join('/')
  const entries = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '')
  const search = new URLSearchParams(entries).toString()
  return `#/${path}${search === '' ? '' : `?${search}`}`
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    // A person may have typed it.
    return part
  }
}

const hash = signal(location.hash)
addEventListener('popstate', () => {
  hash.value = location.hash
})

/** The address, which components read and thereby follow. */
export const address = computed(() => parseAddress(hash.value))

/** Goes to a link; `replace`: `back` does not lead here. */
export function go(link: string, how: 'push' | 'replace' = 'push'): void {
  if (link === location.hash) return
  history[how === 'push' ? 'pushState' : 'replaceState'](null, '', link)
  hash.value = location.hash
}

/** Changes values of the query where the reader is, such as a filter; undefined removes one. */
export function setQuery(changes: Readonly<Record<string, string | undefined>>): void {
  const { place, parts, query } = address.value
  go(linkTo(place, parts, { ...query, ...changes }), 'replace')
}
