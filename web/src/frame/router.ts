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

/** The address; components that read it follow its changes. */
export const address = computed(() => parseAddress(hash.value))

/** What is open above the page, such as a dialog: `under` is the address at its opening. */
type Layer = { readonly under: string; close(): void }
const layers: Layer[] = []
/** How many entries of the history, up to the present one, are those of layers: Back leaves them first. */
const entries = () => (history.state as { readonly layers?: number } | null)?.layers ?? 0
/** What waits until the entries of closed layers are left. */
let waiting: (() => void)[] | undefined

/** Adds or leaves entries until there is one for each layer. */
function settle(): void {
  if (waiting !== undefined) return
  const spare = entries() - layers.length
  if (spare > 0) {
    waiting = []
    history.go(-spare)
  }
  for (let count = entries(); count < layers.length; count += 1) history.pushState({ layers: count + 1 }, '')
}

addEventListener('popstate', () => {
  const acts = waiting
  waiting = undefined
  const closing = layers.splice(entries())
  // The entries of layers have the address of the page below them, and what changed meanwhile, such as a filter, stays.
  if (acts !== undefined || closing[0]?.under === location.hash) history.replaceState(history.state, '', hash.value)
  else hash.value = location.hash
  for (const layer of closing.reverse()) layer.close()
  for (const act of acts ?? []) act()
  settle()
})
// A reload closes what was open.
setTimeout(settle)

/** While something is open above the page, Back calls `close`. Call the result when it is closed. */
export function openAbove(close: () => void): () => void {
  const layer = { under: location.hash, close }
  layers.push(layer)
  setTimeout(settle)
  return () => {
    const index = layers.indexOf(layer)
    if (index >= 0) layers.splice(index, 1)
    setTimeout(settle)
  }
}

/** Goes to a link; `replace`: `back` skips the present address. */
export function go(link: string, how: 'push' | 'replace' = 'push'): void {
  if (waiting !== undefined) {
    waiting.push(() => go(link, how))
    return
  }
  if (link === location.hash) return
  if (how === 'replace') history.replaceState(history.state, '', link)
  // From a layer, such as a list, its entry becomes that of the link.
  else history[entries() > 0 ? 'replaceState' : 'pushState'](null, '', link)
  hash.value = location.hash
}

addEventListener('click', (event) => {
  const link = event.target instanceof Element ? event.target.closest('a[href^="#/"]')?.getAttribute('href') : undefined
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey
  if (link == null || !isPlain || event.defaultPrevented || entries() === 0) return
  event.preventDefault()
  go(link)
})

/** Changes values of the present query, such as a filter; undefined removes one. */
export function setQuery(changes: Readonly<Record<string, string | undefined>>): void {
  const { place, parts, query } = address.value
  go(linkTo(place, parts, { ...query, ...changes }), 'replace')
}
