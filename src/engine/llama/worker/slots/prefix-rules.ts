import { type OwnedTokens, sharedPrefix } from './slots.ts'

/** A stored sequence, as far as the rules need it. */
export type StoredPrefix = OwnedTokens & {
  readonly sizeBytes: number
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

/** What to delete so that the rest fits: files that are too large alone, then the least recently used. */
export function pickEvicted<T extends StoredPrefix>(stored: Iterable<T>, maxBytes: number): T[] {
  const oldestFirst = [...stored].sort((a, b) => a.usedAtMs - b.usedAtMs)
  const evicted = oldestFirst.filter(({ sizeBytes }) => sizeBytes > maxBytes)
  const others = oldestFirst.filter(({ sizeBytes }) => sizeBytes <= maxBytes)
  let totalBytes = others.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
  for (const prefix of others) {
    if (totalBytes <= maxBytes) break
    evicted.push(prefix)
    totalBytes -= prefix.sizeBytes
  }
  return evicted
}
