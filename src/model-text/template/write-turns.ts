import type { ToolCallPart } from '../../contract/request.ts'
import { asForeign, plainText } from '../../jinja/values/foreign-text.ts'
import type { ToolDescriber } from './describe-tools.ts'
import { appendTo } from './join-content.ts'
import { orderToolResults } from './order-results.ts'
import { joinText } from './template-messages.ts'
import type { TemplateTraits } from './template-traits.ts'
import type { TemplateTurn } from './turn.ts'

type Assistant = Extract<TemplateTurn, { role: 'assistant' }>
type Result = Extract<TemplateTurn, { role: 'tool' }>

/**
 * Writes calls as assistant text, and results as user turns: templates without tools would drop both silently. A template that shows tools
 * and results only lacks the calls.
 */
export function writeToolTurns(
  messages: readonly TemplateTurn[],
  { tools, resultsAlone }: Pick<TemplateTraits, 'tools' | 'resultsAlone'>,
  describer: ToolDescriber | undefined,
): TemplateTurn[] {
  // A result refers to its call in the form of the call: with its id if ids are written.
  const named = new Set<string>()
  return messages.map((message): TemplateTurn => {
    if (message.role === 'tool') return tools && resultsAlone ? message : writeResult(message, named.has(message.toolCallId))
    if (message.role !== 'assistant' || message.toolCalls.length === 0) return message
    if (describer?.writeCalls(message.toolCalls) !== undefined) for (const { id } of message.toolCalls) named.add(id)
    return writeCalls(message, message.toolCalls, describer)
  })
}

/** For templates that render tool turns: writes only the calls and results that they refuse or drop at their position. */
export function writeUnsupportedTurns(
  messages: readonly TemplateTurn[],
  { userAfterCall, strayResults }: Pick<TemplateTraits, 'userAfterCall' | 'strayResults'>,
  describer: ToolDescriber | undefined,
): TemplateTurn[] {
  let followsCalls = false
  // A result refers to its call in the form of the call.
  const writtenWithIds = new Set<string>()
  return messages.map((message, index): TemplateTurn => {
    if (message.role === 'tool') {
      return followsCalls || strayResults ? message : writeResult(message, !writtenWithIds.has(message.toolCallId))
    }
    followsCalls = message.role === 'assistant' && message.toolCalls.length > 0
    const next = messages[index + 1]?.role
    const isInterrupted = followsCalls && (next === 'user' || next === 'system')
    if (message.role !== 'assistant' || !isInterrupted || userAfterCall) return message
    if (describer?.writeCalls(message.toolCalls) === undefined) for (const { id } of message.toolCalls) writtenWithIds.add(id)
    return writeCalls(message, message.toolCalls, describer)
  })
}

/** For servers that refuse a call without a following result, and vice versa: writes those alone. */
export function writeUnpairedTurns(messages: readonly TemplateTurn[]): TemplateTurn[] {
  const ordered = orderToolResults(messages)
  const paired = new Set<Result | ToolCallPart>()
  let open: readonly ToolCallPart[] = []
  for (const [index, turn] of ordered.entries()) {
    if (turn.role === 'tool') {
      const call = open.find(({ id }) => id === turn.toolCallId)
      if (call !== undefined) paired.add(turn).add(call)
      open = open.filter((each) => each !== call)
    } else {
      // Parallel calls may be in turns of their own.
      const isNext = ordered[index - 1]?.role === 'assistant'
      open = turn.role === 'assistant' ? [...(isNext ? open : []), ...turn.toolCalls] : []
    }
  }
  return ordered.map((turn) => {
    if (turn.role === 'tool') return paired.has(turn) ? turn : writeResult(turn, false)
    const alone = turn.role === 'assistant' ? turn.toolCalls.filter((call) => !paired.has(call)) : []
    return turn.role === 'assistant' && alone.length > 0 ? writeCalls(turn, alone, undefined) : turn
  })
}

function writeCalls(message: Assistant, calls: readonly ToolCallPart[], describer: ToolDescriber | undefined): TemplateTurn {
  const text =
    describer?.writeCalls(calls) ??
    asForeign(JSON.stringify({ tool_calls: calls.map(({ id, name, input }) => ({ id, name, arguments: input })) }))
  return { ...appendTo(message, [{ type: 'text', text }]), toolCalls: message.toolCalls.filter((call) => !calls.includes(call)) }
}

function writeResult({ toolCallId, name, content }: Result, isNamed: boolean): TemplateTurn {
  const result = {
    ...((!isNamed || name === undefined) && { tool_call_id: toolCallId }),
    ...(name !== undefined && { name }),
    content: plainText(joinText(content)),
  }
  const text = asForeign(JSON.stringify({ tool_result: result }))
  // Pictures, which a text cannot contain.
  return { role: 'user', content: [{ type: 'text', text }, ...content.filter(({ type }) => type === 'media')] }
}
