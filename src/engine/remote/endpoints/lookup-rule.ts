import type { FoundEndpoint } from './source.ts'

/** The result of one look at a name or a file. */
export type Lookup =
  | { readonly type: 'found'; readonly endpoints: readonly FoundEndpoint[] }
  /** There is no such name, or nothing behind it. */
  | { readonly type: 'empty'; readonly reason: string }
  | { readonly type: 'failed'; readonly reason: string }

/** What is known by the looks so far. `endpoints` is undefined before the first that succeeded. */
export type LookedUp = { readonly endpoints: readonly FoundEndpoint[] | undefined; readonly emptyInARow: number }

export const notLookedUp: LookedUp = { endpoints: undefined, emptyInARow: 0 }

/** This many empty answers in a row empty a set: one of a name server that restarts must not. */
const emptyToBelieve = 3

/** A failed look says nothing about the servers: the set stays, however often it fails. */
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
