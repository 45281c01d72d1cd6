import { AppError } from '../../contract/errors.ts'
import type { StoredItem } from '../../contract/store.ts'
import { preview } from '../wire/preview.ts'
import { validate } from '../wire/validate.ts'
import { type WireItem, wireItem } from './item-schema.ts'
import { normalizeInput } from './normalize-input.ts'
import type { ResponseWire } from './schema.ts'

export type Entry = {
  readonly item: WireItem
  /** The caller's name of it: a path of the body, or the field that its history came from. */
  readonly path: string
  /** Whether it is in this call's input. */
  readonly isOwn: boolean
  /** Its name if it is left out: its path, or the id of an older item. */
  readonly label: string
}

export type Entries = {
  readonly entries: readonly Entry[]
  /**
   * This call's own items, in the form that responses list, with references resolved. Created when first read: many calls do not need them.
   */
  readonly input: () => readonly StoredItem[]
}

type Known = {
  readonly history: readonly StoredItem[]
  readonly items: readonly StoredItem[]
  /** The field that the history came from. */
  readonly source: string
}

/** The conversation of a request. Throws for a reference to a missing item. */
export function readEntries({ input: wire }: Pick<ResponseWire, 'input'>, { history, items, source }: Known): Entries {
  const entries = history.map((stored): Entry => ({ ...entryOf(stored, source), isOwn: false, label: stored.id }))
  const given = typeof wire === 'string' ? [messageOf(wire)] : (wire ?? [])
  const known = new Map<unknown, StoredItem>(items.map((item) => [item.id, item]))
  for (const [index, item] of given.entries()) {
    const path = typeof wire === 'string' ? 'input' : `input[${index}]`
    const isReference = item.type === 'item_reference'
    entries.push(isReference ? entryOf(findItem(known, item.id, path), path) : { item, path, isOwn: true, label: path })
  }
  let input: readonly StoredItem[] | undefined
  return {
    entries: withoutCompacted(entries),
    input() {
      input ??= normalizeInput(wire).flatMap((own, index) => own ?? known.get(given[index]?.id) ?? [])
      return input
    },
  }
}

function messageOf(content: string): WireItem {
  return { role: 'user', content }
}

export function entryOf({ json }: StoredItem, path: string): Entry {
  return { item: validate(wireItem, json), path, isOwn: true, label: path }
}

/** Instructions and tools for the model, which stay when turns are dropped. */
export function isInstruction({ item }: Entry): boolean {
  return item.role === 'system' || item.role === 'developer' || item.type === 'additional_tools'
}

/** Drops everything before the last compaction, which replaces it, except instructions. */
function withoutCompacted(entries: readonly Entry[]): readonly Entry[] {
  const last = entries.findLastIndex(({ item }) => item.type === 'compaction')
  return entries.filter((entry, index) => index >= last || isInstruction(entry))
}

function findItem(items: ReadonlyMap<unknown, StoredItem>, id: unknown, path: string): StoredItem {
  const found = items.get(id)
  if (found !== undefined) return found
  const param = `${path}.id`
  throw new AppError('invalid-request', `${param} ${preview(id)} is not a stored item: send the item itself`, { param })
}
