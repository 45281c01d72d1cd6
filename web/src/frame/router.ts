import { computed, signal } from '@preact/signals'
import { decodeUri } from '../../../src/base/text/decode-uri.ts'

/**
 * The reader's location: `#/place/part/…?name=value`. Addresses are fragments: they work below every prefix, and conflict with no route.
 */
type Address = {
  readonly place: string
  readonly parts: readonly string[]
  readonly query: Readonly<Record<string, string>>
}

function parseAddress(hash: string): Address {
  const [path = '', search = ''] = hash.replace(/^#?\/?/, '').split('?', 2)
  const [place = '', ...parts] = path.split('/').map(decodeUri)
  return { place, parts: parts.filter((part) => part !== ''), query: Object.fromEntries(new URLSearchParams(search)) }
}

/** The link to an address; undefined and empty values are left out. */
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

const hash = signal(location.hash)
addEventListener('popstate', () => {
  hash.value = location.hash
})

/** The address; components that read it follow its changes. */
export const address = computed(() => parseAddress(hash.value))

/** Goes to a link; `replace`: `back` skips the present address. */
export function go(link: string, how: 'push' | 'replace' = 'push'): void {
  if (link === location.hash) return
  history[how === 'push' ? 'pushState' : 'replaceState'](null, '', link)
  hash.value = location.hash
}

/** Changes values of the present query, such as a filter; undefined removes one. */
export function setQuery(changes: Readonly<Record<string, string | undefined>>): void {
  const { place, parts, query } = address.value
  go(linkTo(place, parts, { ...query, ...changes }), 'replace')
}
