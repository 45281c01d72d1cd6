import { type OwnedTokens, sharedPrefix } from './slots.ts'

/** A part of a stored sequence, which others may have in common with it. */
export type StoredPiece = { readonly sizeBytes: number }

/** A stored sequence, as far as the rules need it. */
export type StoredPrefix<P extends StoredPiece = StoredPiece> = OwnedTokens & {
  /** Without its pieces. */
  readonly sizeBytes: number
  readonly pieces: readonly P[]
  readonly usedAtMs: number
  /** The numbers of tokens that it can return to besides all, rising; absent: any. */
  readonly checkpoints?: readonly number[]
}

/**
 * Computing this many tokens takes longer than restoring a prefix (measured; docs/inside/decisions/0038). A smaller gain is worth neither a read
 * nor a write.
 */
const worthTokens = 64

type Replacement = {
  /** The number of tokens that stay in the slot. */
  readonly kept: number
  readonly stored: Iterable<StoredPrefix>
  readonly minTokens: number
}

/** Whether to save the contents of a slot before they are replaced: they are long, most of them will go, and too little of them is stored. */
export function isWorthSaving(held: OwnedTokens, { kept, stored, minTokens }: Replacement): boolean {
  const { length } = held.tokens
  if (length - kept < minTokens) return false
  let covered = 0
  for (const prefix of stored) {
    if (prefix.owner === held.owner) covered = Math.max(covered, restorable(prefix, held.tokens))
  }
  return length - covered >= Math.min(worthTokens, minTokens)
}

/** The prefix to restore into a slot that shares `kept` tokens with the wanted ones: the owner's own, if it shares enough more. */
export function pickRestored<T extends StoredPrefix>(stored: Iterable<T>, wanted: OwnedTokens, kept: number): T | undefined {
  let best: T | undefined
  let most = kept + worthTokens - 1
  for (const prefix of stored) {
    if (prefix.owner !== wanted.owner) continue
    const gained = restorable(prefix, wanted.tokens)
    if (gained <= most) continue
    best = prefix
    most = gained
  }
  return best
}

/** How many of the wanted tokens a sequence has, once what differs is erased. */
function restorable({ tokens, checkpoints }: StoredPrefix, wanted: ArrayLike<number>): number {
  const shared = sharedPrefix(tokens, wanted)
  if (checkpoints === undefined || shared === tokens.length) return shared
  return checkpoints.findLast((length) => length <= shared) ?? 0
}

/** Earlier turns of the same conversation, which `added` replaces. */
export function pickReplaced<T extends StoredPrefix>(stored: Iterable<T>, added: T): T[] {
  const isRepeated = ({ owner, tokens }: T) =>
    owner === added.owner && tokens.length - sharedPrefix(tokens, added.tokens) < worthTokens
  return [...stored].filter((prefix) => prefix !== added && isRepeated(prefix))
}

/** What to delete so that the rest fits: prefixes that are too large alone, then the least recently used. */
export function pickEvicted<T extends StoredPrefix>(stored: Iterable<T>, maxBytes: number): T[] {
  const oldestFirst = [...stored].sort((a, b) => a.usedAtMs - b.usedAtMs)
  const evicted = oldestFirst.filter((prefix) => bytesOf([prefix]) > maxBytes)
  const others = oldestFirst.filter((prefix) => !evicted.includes(prefix))
  while (bytesOf(others) > maxBytes) evicted.push(...others.splice(0, 1))
  return evicted
}

/** What prefixes take together: what they have in common counts once. */
export function bytesOf(stored: readonly StoredPrefix[]): number {
  const pieces = new Set(stored.flatMap((prefix) => prefix.pieces))
  return [...stored, ...pieces].reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
}
