import type { ContentPart } from '../../contract/request.ts'
import type { ToolDescriber } from './describe-tools.ts'
import { appendTo, joinContent } from './join-content.ts'
import { orderToolResults } from './order-results.ts'
import { separateCalls } from './separate-calls.ts'
import type { TemplateTraits } from './template-traits.ts'
import type { TemplateTurn } from './turn.ts'
import { writeToolTurns, writeUnsupportedTurns } from './write-turns.ts'

/** The traits that decide how a conversation is written. */
export type HistoryTraits = Pick<
  TemplateTraits,
  | 'system'
  | 'systemAnywhere'
  | 'toolHistory'
  | 'resultsAlone'
  | 'tools'
  | 'userAfterTool'
  | 'userAfterCall'
  | 'strayResults'
  | 'callsTogether'
  | 'callsBesideText'
  | 'textBeforeCalls'
  | 'repeatedUser'
  | 'repeatedAssistant'
>

/**
 * Rewrites a conversation into one that the template supports, without moving text: `developer` becomes `system`; calls and
 * results that the template does not support, or not at their position, become ordinary turns, written in the format of
 * `describer` or as JSON; calls that it cannot render together get separate turns; the text of a refused system message joins
 * the adjacent user turn; turns that must alternate are merged. Moving text to the top instead would change the start of the
 * prompt on every turn and invalidate the prefix cache.
 */
export function normalizeMessages(
  messages: readonly TemplateTurn[],
  traits: HistoryTraits,
  describer?: ToolDescriber,
): TemplateTurn[] {
  const renamed = messages.map(
    (message): TemplateTurn => (message.role === 'developer' ? { ...message, role: 'system' } : message),
  )
  const ordered = orderToolResults(renamed)
  const written = traits.toolHistory
    ? writeUnsupportedTurns(ordered, traits, describer)
    : writeToolTurns(ordered, traits, describer)
  const merged = traits.repeatedAssistant ? written : mergeReplies(written)
  // Before calls are separated from their text, which joins the turn before it if turns must alternate.
  const folded = traits.systemAnywhere ? merged : foldSystemMessages(merged, traits)
  const separated = traits.toolHistory ? separateCalls(folded, traits) : folded
  return mergeUserTurns(separated, traits)
}

/** Merges the leading system messages, if the template allows one; all others become part of a user turn. */
function foldSystemMessages(
  messages: readonly TemplateTurn[],
  { system, userAfterTool }: Pick<TemplateTraits, 'system' | 'userAfterTool'>,
): TemplateTurn[] {
  const leadingCount = messages.findIndex((message) => message.role !== 'system')
  const leading = messages.slice(0, leadingCount === -1 ? messages.length : leadingCount)
  const result: TemplateTurn[] = []
  let pending: readonly ContentPart[] = []
  if (system && leading.length > 0) result.push({ role: 'system', content: joinTurns(leading) })
  else pending = joinTurns(leading)

  for (const message of messages.slice(leading.length)) {
    const previous = result.at(-1)
    if (message.role === 'system') {
      // (1) After a user turn, or a tool result that no user turn may follow: append the text to that turn.
      const endsTurn = previous?.role === 'user' || (previous?.role === 'tool' && !userAfterTool)
      if (previous !== undefined && endsTurn) result[result.length - 1] = appendTo(previous, message.content)
      // (2) Elsewhere: the text opens the next user turn.
      else pending = joinContent(pending, message.content)
    } else if (message.role === 'user' && pending.length > 0) {
      result.push({ ...message, content: joinContent(pending, message.content) })
      pending = []
    } else {
      // (3) No user turn follows: the text becomes a user turn.
      if (pending.length > 0) result.push({ role: 'user', content: pending })
      pending = []
      result.push(message)
    }
  }
  if (pending.length > 0) result.push({ role: 'user', content: pending })
  return result
}

/** Merges consecutive user turns, and appends user text to the result before it, if the template requires this. */
function mergeUserTurns(
  messages: readonly TemplateTurn[],
  { repeatedUser, userAfterTool }: Pick<TemplateTraits, 'repeatedUser' | 'userAfterTool'>,
): TemplateTurn[] {
  const result: TemplateTurn[] = []
  for (const message of messages) {
    const previous = result.at(-1)
    const joins = (previous?.role === 'user' && !repeatedUser) || (previous?.role === 'tool' && !userAfterTool)
    if (message.role === 'user' && previous !== undefined && joins)
      result[result.length - 1] = appendTo(previous, message.content)
    else result.push(message)
  }
  return result
}

/** Merges a reply with the assistant turn after it, which may contain calls. */
function mergeReplies(messages: readonly TemplateTurn[]): TemplateTurn[] {
  const result: TemplateTurn[] = []
  for (const message of messages) {
    const previous = result.at(-1)
    if (message.role !== 'assistant' || previous?.role !== 'assistant' || previous.toolCalls.length > 0) {
      result.push(message)
      continue
    }
    const reasoning = [previous.reasoning, message.reasoning].filter((each) => each !== undefined).join('\n\n')
    const content = joinContent(previous.content, message.content)
    result[result.length - 1] = { ...message, content, ...(reasoning !== '' && { reasoning }) }
  }
  return result
}

function joinTurns(messages: readonly TemplateTurn[]): readonly ContentPart[] {
  return messages.reduce<readonly ContentPart[]>((joined, message) => joinContent(joined, message.content), [])
}
