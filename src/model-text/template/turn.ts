import { callsOf, contentOf, reasoningOf } from '../../canonical/parts.ts'
import type { ContentPart, Message, OutputPart, ReasoningPart, ToolCallPart } from '../../contract/request.ts'
import { plainText } from '../../jinja/values/foreign-text.ts'

/** A turn as chat templates can express it: text, then calls, with all reasoning before both. */
export type TemplateTurn =
  | { readonly role: 'system' | 'developer' | 'user'; readonly content: readonly ContentPart[]; readonly name?: string }
  | {
      readonly role: 'assistant'
      readonly content: readonly ContentPart[]
      readonly reasoning?: string
      /** The original parts of the reasoning, if a server has signed one. */
      readonly signed?: readonly ReasoningPart[]
      readonly toolCalls: readonly ToolCallPart[]
      readonly name?: string
    }
  | {
      readonly role: 'tool'
      readonly content: readonly ContentPart[]
      readonly toolCallId: string
      readonly name?: string
      readonly isError?: true
    }

/** A conversation as turns. A tool result inside an assistant message splits it: the parts after it become a new turn. */
export function toTurns(messages: readonly Message[]): TemplateTurn[] {
  const turns: TemplateTurn[] = []
  for (const message of messages) turns.push(...splitMessage(message))
  return turns
}

/** A turn as a message, with its text in the form used outside templates. */
export function toMessage(turn: TemplateTurn): Message {
  const content = turn.content.map((part) => (part.type === 'text' ? { ...part, text: plainText(part.text) } : part))
  if (turn.role !== 'assistant') return { ...turn, content }
  const { toolCalls, name } = turn
  return { role: 'assistant', parts: [...thoughtsOf(turn), ...content, ...toolCalls], ...(name !== undefined && { name }) }
}

/** A signature is valid only for its original text. */
function thoughtsOf({ reasoning, signed = [] }: Extract<TemplateTurn, { role: 'assistant' }>): readonly ReasoningPart[] {
  if (reasoning === undefined) return []
  return signed.length > 0 && reasoningOf(signed) === reasoning ? signed : [{ type: 'reasoning', text: reasoning }]
}

function splitMessage(message: Message): readonly TemplateTurn[] {
  switch (message.role) {
    case 'assistant':
      return splitAssistant(message.parts, message.name)
    case 'tool':
    case 'system':
    case 'developer':
    case 'user':
      return [message]
  }
}

function splitAssistant(parts: readonly OutputPart[], name: string | undefined): TemplateTurn[] {
  const turns: TemplateTurn[] = []
  let from = 0
  for (const [index, part] of parts.entries()) {
    if (part.type !== 'tool-result') continue
    if (index > from) turns.push(toAssistant(parts.slice(from, index), name))
    const { type: _, ...result } = part
    turns.push({ role: 'tool', ...result })
    from = index + 1
  }
  if (from < parts.length || turns.length === 0) turns.push(toAssistant(parts.slice(from), name))
  return turns
}

function toAssistant(parts: readonly OutputPart[], name: string | undefined): TemplateTurn {
  const reasoning = parts.filter((part) => part.type === 'reasoning')
  return {
    role: 'assistant',
    content: contentOf(parts),
    ...(reasoning.length > 0 && { reasoning: reasoningOf(reasoning) }),
    ...(reasoning.some(({ opaque }) => opaque !== undefined) && { signed: reasoning }),
    toolCalls: callsOf(parts),
    ...(name !== undefined && { name }),
  }
}
