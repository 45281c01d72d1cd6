import { createHash } from 'node:crypto'

/** The processes that share limits, this one among them. */
export type Processes = { readonly own: string; readonly all: readonly string[] }

/** The rank of this process among those that share an account. */
export type Rank = { readonly rank: number; readonly count: number }

export const onlyRank: Rank = { rank: 0, count: 1 }

/** Ranks differ between accounts, so that no process is the last for all of them. */
export function rankOf(account: string, { own, all }: Processes): Rank {
  const orderOf = (id: string) => createHash('sha256').update(`${account} ${id}`).digest('hex')
  const ownOrder = orderOf(own)
  return { rank: all.filter((id) => orderOf(id) < ownOrder).length, count: all.length }
}

/** The part of what is left that a process may use without asking the others. All parts are the whole; nothing is left of an excess. */
export function partOf(left: number, { rank, count }: Rank): number {
  if (left <= 0) return left
  return Math.floor(left / count) + (rank < left % count ? 1 : 0)
}
