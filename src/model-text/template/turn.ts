import { callsOf, contentOf } from '../../canonical/parts.ts'
import type { ContentPart, Message, OutputPart, ToolCallPart } from '../../contract/request.ts'
import { plainText } from '../../jinja/values/foreign-text.ts'

/** A turn as chat templates can express it: text, then calls, with all reasoning before both. */
export type Turn =
  | { readonly role: 'system' | 'developer' | 'user'; readonly content: readonly ContentPart[]; readonly name?: string }
  | {
      readonly role: 'assistant'
      readonly content: readonly ContentPart[]
      readonly reasoning?: string
      readonly toolCalls: readonly ToolCallPart[]
      readonly name?: string
    }
  | {
      readonly role: 'tool'
      readonly content: readonly ContentPart[]
      readonly toolCallId: string
      readonly name?: string
    }

/** A conversation as turns. A tool result inside an assistant message splits it: the parts after it become a new turn. */
export function toTurns(messages: readonly Message[]): Turn[] {
  const turns: Turn[] = []
  for (const message of messages) turns.push(...splitMessage(message))
  return turns
}

/** A turn as a message, with its text as it is written outside of templates. */
export function toMessage(turn: Turn): Message {
  const content = turn.content.map((part) => (part.type === 'text' ? { ...part, text: plainText(part.text) } : part))
  if (turn.role !== 'assistant') return { ...turn, content }
  const { reasoning, toolCalls, name } = turn
  const thought = reasoning === undefined ? [] : [{ type: 'reasoning', text: reasoning } as const]
  return { role: 'assistant', parts: [...thought, ...content, ...toolCalls], ...(name !== undefined && { name }) }
}

function splitMessage(message: Message): readonly Turn[] {
  switch (message.role) {
    case 'assistant':
      return splitAssistant(message.parts, message.name)
    case 'tool': {
      const { isError: _, ...turn } = message
      return [turn]
    }
    case 'system':
    case 'developer':
    case 'user':
      return [message]
  }
}

function splitAssistant(parts: readonly OutputPart[], name: string | undefined): Turn[] {
  const turns: Turn[] = []
  let from = 0
  for (const [index, part] of parts.entries()) {
    if (part.type !== 'tool-result') continue
    if (index > from) turns.push(toAssistant(parts.slice(from, index), name))
    turns.push({ role: 'tool', content: part.content, toolCallId: part.toolCallId })
    from = index + 1
  }
  if (from < parts.length || turns.length === 0) turns.push(toAssistant(parts.slice(from), name))
  return turns
}

function toAssistant(parts: readonly OutputPart[], name: string | undefined): Turn {
  const reasoning = parts.filter((part) => part.type === 'reasoning')
  return {
    role: 'assistant',
    content: contentOf(parts),
    ...(reasoning.length > 0 && { reasoning: reasoning.map(({ text }) => text).join('') }),
    toolCalls: callsOf(parts),
    ...(name !== undefined && { name }),
  }
}
