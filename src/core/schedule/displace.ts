/** The relevant facts of a request that has not begun. */
type Unstarted = { readonly principal: string; readonly session: string }

/**
 * Which request that has not begun gives its place in a full queue to a newcomer: the newest of the caller with the most, if that has at
 * least two more than the newcomer's caller; the same applies between the sessions of one caller. Undefined: the newcomer is refused.
 */
export function findDisplaced<Item extends Unstarted>(waiting: readonly Item[], newcomer: Unstarted): Item | undefined {
  const most = largest(waiting, ({ principal }) => principal)
  if (most === undefined) return undefined
  const own = waiting.filter(({ principal }) => principal === newcomer.principal)
  if (own.length + 1 < most.length) return most.at(-1)
  // Several callers have about the same number, so this caller's sessions do not concern the others.
  if (own.length < most.length) return undefined
  const longest = largest(own, ({ session }) => session)
  const inSession = own.filter(({ session }) => session === newcomer.session)
  return longest !== undefined && inSession.length + 1 < longest.length ? longest.at(-1) : undefined
}

function largest<Item>(items: readonly Item[], keyOf: (item: Item) => string): Item[] | undefined {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group === undefined) groups.set(keyOf(item), [item])
    else group.push(item)
  }
  let most: Item[] | undefined
  for (const group of groups.values()) if (most === undefined || group.length > most.length) most = group
  return most
}
