import type { ContentPart } from '../../contract/request.ts'
import { appendTo, joinContent } from './join-content.ts'
import { orderToolResults } from './order-results.ts'
import { separateCalls } from './separate-calls.ts'
import type { ToolTeller } from './tell-tools.ts'
import { tellLooseTurns, tellToolTurns } from './tell-turns.ts'
import type { TemplateTraits } from './template-traits.ts'
import type { Turn } from './turn.ts'

/**
 * Rewrites a conversation into one that the template can express, without moving any text: `developer` becomes `system`;
 * calls and results that the template does not know, or not where they stand, are told in ordinary turns: as `teller` has told
 * the model to write them, or else as JSON; calls that it cannot show together get turns of their own; where it forbids a
 * system message, its text joins the neighbouring user turn, in place; turns that it wants to alternate are joined. Hoisting
 * text to the top instead would change the start of the prompt on every turn, and with it lose the whole prefix cache.
 */
export function normalizeMessages(messages: readonly Turn[], traits: TemplateTraits, teller?: ToolTeller): Turn[] {
  const renamed = messages.map((message): Turn => (message.role === 'developer' ? { ...message, role: 'system' } : message))
  const ordered = orderToolResults(renamed)
  const told = traits.toolHistory ? tellLooseTurns(ordered, traits, teller) : tellToolTurns(ordered, teller)
  const joined = traits.repeatedAssistant ? told : mergeReplies(told)
  const spoken = traits.toolHistory ? separateCalls(joined, traits) : joined
  const folded = traits.systemAnywhere ? spoken : foldSystemMessages(spoken, traits)
  return mergeUserTurns(folded, traits)
}

/** Leading system messages become one, if the template takes any; every other becomes part of a user turn. */
function foldSystemMessages(
  messages: readonly Turn[],
  { system, userAfterTool }: Pick<TemplateTraits, 'system' | 'userAfterTool'>,
): Turn[] {
  const leadingCount = messages.findIndex((message) => message.role !== 'system')
  const leading = messages.slice(0, leadingCount === -1 ? messages.length : leadingCount)
  const result: Turn[] = []
  let pending: readonly ContentPart[] = []
  if (system && leading.length > 0) result.push({ role: 'system', content: joinTurns(leading) })
  else pending = joinTurns(leading)

  for (const message of messages.slice(leading.length)) {
    const previous = result.at(-1)
    if (message.role === 'system') {
      // (1) Right after a user turn, or a tool result that no user turn may follow: the text ends that turn.
      const endsTurn = previous?.role === 'user' || (previous?.role === 'tool' && !userAfterTool)
      if (previous !== undefined && endsTurn) result[result.length - 1] = appendTo(previous, message.content)
      // (2) Elsewhere: it opens the next user turn.
      else pending = joinContent(pending, message.content)
    } else if (message.role === 'user' && pending.length > 0) {
      result.push({ ...message, content: joinContent(pending, message.content) })
      pending = []
    } else {
      // (3) No user turn comes next: it is a user turn of its own.
      if (pending.length > 0) result.push({ role: 'user', content: pending })
      pending = []
      result.push(message)
    }
  }
  if (pending.length > 0) result.push({ role: 'user', content: pending })
  return result
}

/** User turns in a row become one, and what the user says behind a result ends that result, where the template wants it so. */
function mergeUserTurns(
  messages: readonly Turn[],
  { repeatedUser, userAfterTool }: Pick<TemplateTraits, 'repeatedUser' | 'userAfterTool'>,
): Turn[] {
  const result: Turn[] = []
  for (const message of messages) {
    const previous = result.at(-1)
    const joins = (previous?.role === 'user' && !repeatedUser) || (previous?.role === 'tool' && !userAfterTool)
    if (message.role === 'user' && previous !== undefined && joins)
      result[result.length - 1] = appendTo(previous, message.content)
    else result.push(message)
  }
  return result
}

/** A reply joins the turn of the assistant behind it, which may hold calls. */
function mergeReplies(messages: readonly Turn[]): Turn[] {
  const result: Turn[] = []
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

function joinTurns(messages: readonly Turn[]): readonly ContentPart[] {
  return messages.reduce<readonly ContentPart[]>((joined, message) => joinContent(joined, message.content), [])
}
