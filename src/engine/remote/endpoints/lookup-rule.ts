import type { FoundEndpoint } from './source.ts'

/** The result of one lookup of a name or a file. */
export type Lookup =
  | { readonly type: 'found'; readonly endpoints: readonly FoundEndpoint[] }
  /** The name does not exist, or has no servers. */
  | { readonly type: 'empty'; readonly reason: string }
  | { readonly type: 'failed'; readonly reason: string }

/** The result of all lookups so far. `endpoints` is undefined before the first success. */
export type LookedUp = { readonly endpoints: readonly FoundEndpoint[] | undefined; readonly emptyInARow: number }

export const notLookedUp: LookedUp = { endpoints: undefined, emptyInARow: 0 }

/** A set is emptied only after this many empty answers in a row: a name server that restarts may give one. */
const emptyToBelieve = 3

/** The state after another lookup. A failed lookup does not change the set. */
export function afterLookup(before: LookedUp, lookup: Lookup): LookedUp {
  switch (lookup.type) {
    case 'found':
      return { endpoints: lookup.endpoints, emptyInARow: 0 }
    case 'failed':
      return { ...before, emptyInARow: 0 }
    case 'empty': {
      const emptyInARow = before.emptyInARow + 1
      const isBelieved = before.endpoints === undefined || emptyInARow >= emptyToBelieve
      return { endpoints: isBelieved ? [] : before.endpoints, emptyInARow }
    }
  }
}
