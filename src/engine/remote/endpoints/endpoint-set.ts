import type { FoundEndpoint } from './source.ts'

/** What is to be done after a source has reported another set. */
export type SetChange<E> = {
  readonly added: readonly E[]
  /** At the same address, with another key, weight or rank. */
  readonly changed: readonly E[]
  /** At the same address, another server: with another name for the model, or of another kind. */
  readonly replaced: readonly E[]
  readonly gone: readonly E[]
}

/** Compares sets of endpoints by their URLs. */
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
  return one.apiKey === other.apiKey && one.weight === other.weight && one.isSpare === other.isSpare
}
