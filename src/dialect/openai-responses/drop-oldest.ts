import type { StoredItem } from '../../contract/store.ts'
import { type Entry, entryOf, isInstruction } from './entries.ts'
import { isKnownItem } from './item-schema.ts'
import { readOther } from './other-items.ts'

/** A turn that can be left out as a whole. */
type RemovableTurn = { readonly entries: Entry[]; readonly isUser: boolean }

/**
 * The conversation without its oldest `count` turns. A user's message is a turn; so is everything that the assistant answers before the
 * next one, with the results of its calls. System and developer messages stay, and so does everything from the last user's message on.
 * Undefined if fewer turns can go.
 */
export function dropOldest(
  entries: readonly Entry[],
  count: number,
): { readonly kept: readonly Entry[]; readonly dropped: readonly Entry[] } | undefined {
  const turns = oldTurns(entries)
  if (count < 1 || count > turns.length) return undefined
  const gone = new Set(turns.slice(0, count).flatMap((turn) => turn.entries))
  return { kept: entries.filter((entry) => !gone.has(entry)), dropped: entries.filter((entry) => gone.has(entry)) }
}

/** The conversation with a compaction in place of all turns that can go; undefined if none can. */
export function replaceOldest(entries: readonly Entry[], compaction: StoredItem): readonly Entry[] | undefined {
  const left = dropOldest(entries, oldTurns(entries).length)
  if (left === undefined) return undefined
  const begin = left.kept.findIndex((entry) => !isInstruction(entry))
  return [...left.kept.slice(0, begin), entryOf(compaction, 'input'), ...left.kept.slice(begin)]
}

function oldTurns(entries: readonly Entry[]): readonly RemovableTurn[] {
  const turns = groupTurns(entries)
  const lastUser = turns.findLastIndex(({ isUser }) => isUser)
  return turns.slice(0, lastUser === -1 ? -1 : lastUser)
}

function groupTurns(entries: readonly Entry[]): readonly RemovableTurn[] {
  const turns: RemovableTurn[] = []
  /** The turn of each call, which its result belongs to. */
  const byCall = new Map<string, RemovableTurn>()
  let isAnswered = false
  for (const entry of entries) {
    const kind = kindOf(entry)
    if (kind === 'instruction') continue
    if (kind === 'result') {
      const turn = byCall.get(callIdOf(entry))
      if (turn !== undefined) turn.entries.push(entry)
      isAnswered = true
      continue
    }
    const last = turns.at(-1)
    const continues = kind === 'assistant' && last !== undefined && !last.isUser && !isAnswered
    const turn = continues ? last : { entries: [], isUser: kind === 'user' }
    if (!continues) turns.push(turn)
    isAnswered = false
    turn.entries.push(entry)
    if (kind === 'assistant') byCall.set(callIdOf(entry), turn)
  }
  return turns
}

function kindOf({ item }: Entry): 'user' | 'assistant' | 'result' | 'instruction' {
  if (!isKnownItem(item)) {
    const meaning = readOther(item)
    if (meaning?.type === 'message') return kindOfRole(meaning.role)
    return meaning?.type === 'result' ? 'result' : 'assistant'
  }
  switch (item.type) {
    case undefined:
    case 'message':
      return kindOfRole(item.role)
    case 'compaction':
      return 'user'
    case 'function_call_output':
    case 'custom_tool_call_output':
    case 'tool_search_output':
    case 'mcp_approval_response':
      return 'result'
    case 'additional_tools':
    // It says how to treat the conversation.
    case 'compaction_trigger':
      return 'instruction'
    default:
      return 'assistant'
  }
}

function kindOfRole(role: 'user' | 'assistant' | 'system' | 'developer') {
  return role === 'user' || role === 'assistant' ? role : 'instruction'
}

function callIdOf({ item }: Entry): string {
  if (item.type === 'mcp_approval_request') return String(item.id)
  if (item.type === 'mcp_approval_response') return String(item.approval_request_id)
  if (typeof item.call_id === 'string') return item.call_id
  return isKnownItem(item) ? '' : (item.id ?? '')
}
