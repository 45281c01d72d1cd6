import { appendTo } from './join-content.ts'
import type { ToolTeller } from './tell-tools.ts'
import { joinText } from './template-messages.ts'
import type { TemplateTraits } from './template-traits.ts'
import type { Turn } from './turn.ts'

type Assistant = Extract<Turn, { role: 'assistant' }>
type Result = Extract<Turn, { role: 'tool' }>

/** Calls as text of the assistant, results as turns of the user: templates without tools would drop both without a word. */
export function tellToolTurns(messages: readonly Turn[], teller: ToolTeller | undefined): Turn[] {
  // What is said of a call is what its result is known by: an id where ids are written, or else a name.
  const named = new Set<string>()
  return messages.map((message): Turn => {
    if (message.role === 'tool') return tellResult(message, named.has(message.toolCallId))
    if (message.role !== 'assistant' || message.toolCalls.length === 0) return message
    if (teller?.writeCalls(message.toolCalls) !== undefined) for (const { id } of message.toolCalls) named.add(id)
    return tellCalls(message, teller)
  })
}

/** Tells, of the calls and results that the template shows, only those that it refuses or drops where they stand. */
export function tellLooseTurns(
  messages: readonly Turn[],
  { userAfterCall, strayResults }: Pick<TemplateTraits, 'userAfterCall' | 'strayResults'>,
  teller: ToolTeller | undefined,
): Turn[] {
  let followsCalls = false
  // What is said of a call is what its result is known by.
  const toldByIds = new Set<string>()
  return messages.map((message, index): Turn => {
    if (message.role === 'tool') {
      return followsCalls || strayResults ? message : tellResult(message, !toldByIds.has(message.toolCallId))
    }
    followsCalls = message.role === 'assistant' && message.toolCalls.length > 0
    const next = messages[index + 1]?.role
    const isInterrupted = followsCalls && (next === 'user' || next === 'system')
    if (message.role !== 'assistant' || !isInterrupted || userAfterCall) return message
    if (teller?.writeCalls(message.toolCalls) === undefined) for (const { id } of message.toolCalls) toldByIds.add(id)
    return tellCalls(message, teller)
  })
}

function tellCalls(message: Assistant, teller: ToolTeller | undefined): Turn {
  const text =
    teller?.writeCalls(message.toolCalls) ??
    JSON.stringify({ tool_calls: message.toolCalls.map(({ id, name, input }) => ({ id, name, arguments: input })) })
  return { ...appendTo(message, [{ type: 'text', text }]), toolCalls: [] }
}

function tellResult({ toolCallId, name, content }: Result, isNamed: boolean): Turn {
  const call = isNamed && name !== undefined ? { name } : { tool_call_id: toolCallId }
  const text = JSON.stringify({ tool_result: { ...call, content: joinText(content) } })
  return { role: 'user', content: [{ type: 'text', text }] }
}
