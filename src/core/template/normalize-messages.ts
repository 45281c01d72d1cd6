import type { ContentPart, Message } from '../request.ts'
import { separateCalls } from './separate-calls.ts'
import type { ToolTeller } from './tell-tools.ts'
import { joinText } from './template-messages.ts'
import type { TemplateTraits } from './template-traits.ts'

/**
 * Rewrites a conversation into one that the template can express, without moving any text: `developer` becomes `system`;
 * where the template knows no calls, they and their results are told in ordinary turns: as `teller` has told the model to
 * write them, or else as JSON; calls that it cannot show together get turns of their own; where it forbids a system message,
 * its text joins the neighbouring user turn, in place. Hoisting it to the top
 * instead would change the start of the prompt on every turn, and with it lose the whole prefix cache.
 */
export function normalizeMessages(
  messages: readonly Message[],
  traits: Pick<
    TemplateTraits,
    'system' | 'systemAnywhere' | 'repeatedUser' | 'toolHistory' | 'userAfterTool' | 'callsTogether' | 'callsBesideText'
  >,
  teller?: ToolTeller,
): Message[] {
  const renamed = messages.map((message): Message => (message.role === 'developer' ? { ...message, role: 'system' } : message))
  const ordered = orderToolResults(renamed)
  const spoken = traits.toolHistory ? separateCalls(ordered, traits) : tellToolTurns(ordered, teller)
  const folded = traits.systemAnywhere ? spoken : foldSystemMessages(spoken, traits)
  return traits.repeatedUser ? folded : mergeUserRuns(folded)
}

/** Leading system messages become one, if the template takes any; every other becomes part of a user turn. */
function foldSystemMessages(
  messages: readonly Message[],
  { system, userAfterTool }: Pick<TemplateTraits, 'system' | 'userAfterTool'>,
): Message[] {
  const leadingCount = messages.findIndex((message) => message.role !== 'system')
  const leading = messages.slice(0, leadingCount === -1 ? messages.length : leadingCount)
  const result: Message[] = []
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

function mergeUserRuns(messages: readonly Message[]): Message[] {
  const result: Message[] = []
  for (const message of messages) {
    const previous = result.at(-1)
    if (message.role === 'user' && previous?.role === 'user') result[result.length - 1] = appendTo(previous, message.content)
    else result.push(message)
  }
  return result
}

/** Calls as text of the assistant, results as turns of the user: templates without tools would drop both without a word. */
function tellToolTurns(messages: readonly Message[], teller: ToolTeller | undefined): Message[] {
  // What is said of a call is what its result is known by: an id where ids are written, or else a name.
  const known = new Map<string, { readonly tool_call_id: string } | { readonly name: string }>()
  return messages.map((message): Message => {
    if (message.role === 'tool') {
      const call = known.get(message.toolCallId) ?? { tool_call_id: message.toolCallId }
      const result = { ...call, content: joinText(message.content) }
      return { role: 'user', content: [{ type: 'text', text: JSON.stringify({ tool_result: result }) }] }
    }
    if (message.role !== 'assistant' || message.toolCalls.length === 0) return message
    const written = teller?.writeCalls(message.toolCalls)
    if (written !== undefined) for (const { id, name } of message.toolCalls) known.set(id, { name })
    const text = written ?? JSON.stringify({ tool_calls: message.toolCalls })
    return { ...message, content: joinContent(message.content, [{ type: 'text', text }]), toolCalls: [] }
  })
}

/** Results of parallel calls, in the order of the calls; results of unknown calls stay last, in their own order. */
function orderToolResults(messages: readonly Message[]): Message[] {
  const result: Message[] = []
  let order = new Map<string, number>()
  let run: (Message & { role: 'tool' })[] = []
  const flush = () => {
    const rank = (message: Message & { role: 'tool' }) => order.get(message.toolCallId) ?? Number.MAX_SAFE_INTEGER
    result.push(...run.sort((a, b) => rank(a) - rank(b)))
    run = []
  }
  for (const message of messages) {
    if (message.role === 'tool') {
      run.push(message)
      continue
    }
    flush()
    if (message.role === 'assistant') order = new Map(message.toolCalls.map((call, index) => [call.id, index]))
    result.push(message)
  }
  flush()
  return result
}

function appendTo(message: Message, content: readonly ContentPart[]): Message {
  return { ...message, content: joinContent(message.content, content) }
}

function joinTurns(messages: readonly Message[]): readonly ContentPart[] {
  return messages.reduce<readonly ContentPart[]>((joined, message) => joinContent(joined, message.content), [])
}

/** Two contents as one, a blank line between their texts. */
function joinContent(first: readonly ContentPart[], second: readonly ContentPart[]): readonly ContentPart[] {
  const last = first.at(-1)
  const next = second[0]
  if (last === undefined) return second
  if (next === undefined) return first
  if (last.type !== 'text' || next.type !== 'text') return [...first, ...second]
  return [...first.slice(0, -1), { type: 'text', text: `${last.text}\n\n${next.text}` }, ...second.slice(1)]
}
