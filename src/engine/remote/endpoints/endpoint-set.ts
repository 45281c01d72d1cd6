import type { FoundEndpoint } from './source.ts'

/** The differences between two sets of servers. */
export type SetChange<E> = {
  readonly added: readonly E[]
  /** Same address, but another key, weight, rank, distance or name in its certificate. */
  readonly changed: readonly E[]
  /** Same address, but another server: it has another name for the model, or is of another kind. */
  readonly replaced: readonly E[]
  readonly gone: readonly E[]
}

/** Compares sets of endpoints by URL. */
export function compareSets<E extends FoundEndpoint>(before: ReadonlyMap<string, E>, after: readonly E[]): SetChange<E> {
  const kept = new Set(after.map(({ url }) => url))
  const added: E[] = []
  const changed: E[] = []
  const replaced: E[] = []
  for (const endpoint of after) {
    const known = before.get(endpoint.url)
    if (known === undefined) added.push(endpoint)
    else if (known.isRouter !== endpoint.isRouter || known.upstreamModel !== endpoint.upstreamModel) replaced.push(endpoint)
    else if (!isSame(known, endpoint)) changed.push(endpoint)
  }
  return { added, changed, replaced, gone: [...before.values()].filter(({ url }) => !kept.has(url)) }
}

function isSame(one: FoundEndpoint, other: FoundEndpoint): boolean {
  return (
    one.apiKey === other.apiKey &&
    one.weight === other.weight &&
    one.isSpare === other.isSpare &&
    one.isFar === other.isFar &&
    one.serverName === other.serverName
  )
}
