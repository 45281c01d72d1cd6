import { expect, test } from 'vitest'
import { compareSets } from './endpoint-set.ts'
import { afterLookup, type Lookup, notLookedUp } from './lookup-rule.ts'
import { findSeveralAddresses, severalAddresses } from './several-addresses.ts'
import { type EndpointSource, fixedSource, joinedSource, ReplaceableSource, type SourceListener } from './source.ts'

const server = (name: string, more = {}) => ({ url: `http://${name}/v1`, weight: 1, ...more })

test('sets are compared by address: what is new, different and gone', () => {
  const before = new Map([server('a'), server('b'), server('c')].map((one) => [one.url, one]))
  const change = compareSets(before, [server('b', { weight: 2 }), server('c'), server('d')])
  expect(change).toEqual({ added: [server('d')], changed: [server('b', { weight: 2 })], replaced: [], gone: [server('a')] })
  expect(compareSets(before, [...before.values()])).toEqual({ added: [], changed: [], replaced: [], gone: [] })
  expect(compareSets(before, [server('a', { apiKey: 'new' })]).changed).toHaveLength(1)
  expect(compareSets(before, [server('a', { isSpare: true })]).changed).toHaveLength(1)
  expect(compareSets(before, [server('a', { isRouter: true })]).replaced).toHaveLength(1)
  expect(compareSets(before, [server('a', { upstreamModel: 'x' })]).replaced).toHaveLength(1)
})

const found: Lookup = { type: 'found', endpoints: [server('a')] }
const empty: Lookup = { type: 'empty', reason: 'NXDOMAIN' }
const failed: Lookup = { type: 'failed', reason: 'SERVFAIL' }

test.each([
  { name: 'one empty answer says little', lookups: [found, empty, empty], left: 1 },
  { name: 'three in a row are believed', lookups: [found, empty, empty, empty], left: 0 },
  { name: 'a failure between them starts the count anew', lookups: [found, empty, empty, failed, empty, empty], left: 1 },
  { name: 'so does a found set', lookups: [found, empty, empty, found, empty], left: 1 },
  { name: 'failures never empty a set', lookups: [found, ...Array.from({ length: 100 }, () => failed)], left: 1 },
  { name: 'at the start, there is nothing to keep', lookups: [empty], left: 0 },
  { name: 'nothing is known after failures only', lookups: [failed, failed], left: undefined },
])('$name', ({ lookups, left }) => {
  expect(lookups.reduce(afterLookup, notLookedUp).endpoints?.length).toBe(left)
})

/** A source that reports what the test says. */
function handSource() {
  const listeners = new Set<SourceListener>()
  const source: EndpointSource = {
    follow(listener) {
      listeners.add(listener)
      return { stop: () => void listeners.delete(listener) }
    },
  }
  return {
    source,
    listeners,
    tell: (...set: readonly string[]) => listeners.forEach(({ onSet }) => void onSet(set.map((n) => server(n)))),
  }
}

function listen(source: EndpointSource) {
  const sets: string[][] = []
  const failures: string[] = []
  const { stop } = source.follow({
    onSet: (set) => void sets.push(set.map(({ url }) => new URL(url).host)),
    onFailure: (reason) => void failures.push(reason),
  })
  return { sets, failures, stop }
}

test('of mixed sources, the servers are together, each address once', () => {
  const dns = handSource()
  const { sets, stop } = listen(joinedSource([fixedSource([server('a'), server('b')]), dns.source]))
  expect(sets).toEqual([])
  dns.tell('b', 'c')
  dns.tell()
  expect(sets).toEqual([
    ['a', 'b', 'c'],
    ['a', 'b'],
  ])
  stop()
  expect(dns.listeners.size).toBe(0)
})

test('a source that cannot be reached keeps the others from nothing', () => {
  const dns = handSource()
  const { sets, failures } = listen(joinedSource([fixedSource([server('a')]), dns.source]))
  for (const { onFailure } of dns.listeners) onFailure('SERVFAIL')
  expect(sets).toEqual([['a']])
  dns.tell('b')
  for (const { onFailure } of dns.listeners) onFailure('SERVFAIL')
  expect(sets).toEqual([['a'], ['a', 'b']])
  expect(failures).toEqual([])
})

test('when no source can be reached, the error has the reasons', () => {
  const [one, other] = [handSource(), handSource()]
  const { failures } = listen(joinedSource([one.source, other.source]))
  for (const { onFailure } of one.listeners) onFailure('no file')
  expect(failures).toEqual([])
  for (const { onFailure } of other.listeners) onFailure('no name')
  expect(failures).toEqual(['no file; no name'])
})

test('a replaced source keeps its set until the new one knows its own', () => {
  const [old, next] = [handSource(), handSource()]
  const source = new ReplaceableSource(old.source)
  const { sets, stop } = listen(source)
  old.tell('a')
  source.replace(next.source)
  expect(old.listeners.size).toBe(0)
  expect(sets).toEqual([['a']])
  next.tell('b')
  expect(sets).toEqual([['a'], ['b']])
  stop()
  expect(next.listeners.size).toBe(0)
  // Followed again, it is the new one.
  expect(listen(source).sets).toEqual([])
  next.tell('c')
  expect(next.listeners.size).toBe(1)
})

test.each([
  { url: 'http://pods.test:8000/v1', warned: 'http://pods.test:8000/v1' },
  { url: 'https://pods.test/v1', warned: undefined },
  { url: 'http://one.test/v1', warned: undefined },
  { url: 'http://both.test/v1', warned: undefined },
  { url: 'http://gone.test/v1', warned: undefined },
  { url: 'http://localhost/v1', warned: undefined },
  { url: 'http://10.0.0.1/v1', warned: undefined },
  { url: 'http://[::1]/v1', warned: undefined },
])('several addresses behind $url: $warned', async ({ url, warned }) => {
  const addresses: Record<string, readonly string[]> = {
    'pods.test': ['10.0.0.1', '10.0.0.2'],
    'one.test': ['10.0.0.1', '10.0.0.1'],
    'both.test': ['10.0.0.1', '::1'],
  }
  const lookUp = async (name: string) => {
    const known = addresses[name]
    if (known === undefined) throw new Error(`unexpected lookup of ${name}`)
    return known.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  }
  expect((await findSeveralAddresses([url], lookUp))?.url).toBe(warned)
})

test('the warning says what to write instead', () => {
  expect(severalAddresses({ url: 'http://pods.test:8000/v1', count: 8 })).toBe(
    'pods.test has 8 addresses, and all requests go to one of them; ' +
      'for a replica at each, write { dns: pods.test, port: 8000, path: /v1 }',
  )
})
