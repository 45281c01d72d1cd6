import type { History } from '../../../src/model-text/template/__fixtures__/histories.ts'
import { type TemplateTurn, toTurns } from '../../../src/model-text/template/turn.ts'

type Json = Record<string, unknown>

/** A request of a client with this conversation, at its path; undefined where the protocol cannot express it. */
export type AsBody = (history: Omit<History, 'name'>) => { readonly path: string; readonly body: Json } | undefined

const textOf = ({ content }: TemplateTurn) => content.map((part) => (part.type === 'text' ? part.text : '')).join('')

export const asChat: AsBody = ({ messages, tools = [], start }) => ({
  path: '/v1/chat/completions',
  body: {
    max_tokens: 2,
    messages: toTurns(messages).map((turn) => {
      if (turn.role === 'tool') return { role: 'tool', tool_call_id: turn.toolCallId, content: textOf(turn) }
      if (turn.role !== 'assistant') return { role: turn.role, content: textOf(turn) }
      const { reasoning, toolCalls } = turn
      const calls = toolCalls.map(({ id, name, input }) => ({ id, type: 'function', function: { name, arguments: input } }))
      return {
        role: 'assistant',
        content: textOf(turn),
        ...(reasoning !== undefined && { reasoning_content: reasoning }),
        ...(calls.length > 0 && { tool_calls: calls }),
      }
    }),
    ...(tools.length > 0 && { tools: tools.map((tool) => ({ type: 'function', function: tool })) }),
    ...(start === 'last-message' && { continue_final_message: true, add_generation_prompt: false }),
  },
})

export const asResponses: AsBody = ({ messages, tools = [], start }) => {
  // The protocol continues nothing.
  if (start === 'last-message') return undefined
  return {
    path: '/v1/responses',
    body: {
      max_output_tokens: 16,
      store: false,
      input: toTurns(messages).flatMap((turn): Json[] => {
        if (turn.role === 'tool') return [{ type: 'function_call_output', call_id: turn.toolCallId, output: textOf(turn) }]
        if (turn.role !== 'assistant') return [{ role: turn.role, content: textOf(turn) }]
        const { reasoning, toolCalls } = turn
        const thought = { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: reasoning }] }
        return [
          ...(reasoning === undefined ? [] : [thought]),
          { role: 'assistant', content: textOf(turn) },
          ...toolCalls.map(({ id, name, input }) => ({ type: 'function_call', call_id: id, name, arguments: input })),
        ]
      }),
      ...(tools.length > 0 && { tools: tools.map((tool) => ({ type: 'function', ...tool })) }),
    },
  }
}

export const asMessages: AsBody = ({ messages, tools = [] }) => {
  const turns = toTurns(messages)
  const calls = turns.flatMap((turn) => (turn.role === 'assistant' ? turn.toolCalls : []))
  // The protocol has objects only.
  if (calls.some(({ input }) => !isObject(input))) return undefined
  const isLeading = (index: number) => turns.slice(0, index + 1).every(({ role }) => role === 'system' || role === 'developer')
  const system = turns.filter((_, index) => isLeading(index)).map(textOf)
  return {
    path: '/v1/messages',
    body: {
      max_tokens: 2,
      ...(system.length > 0 && { system: system.map((text) => ({ type: 'text', text })) }),
      messages: turns.slice(system.length).map((turn) => {
        if (turn.role === 'tool') {
          const result = { type: 'tool_result', tool_use_id: turn.toolCallId, content: textOf(turn) }
          return { role: 'user', content: [result] }
        }
        if (turn.role !== 'assistant') return { role: turn.role === 'developer' ? 'system' : turn.role, content: textOf(turn) }
        const { reasoning, toolCalls } = turn
        const content = [
          ...(reasoning === undefined ? [] : [{ type: 'thinking', thinking: reasoning, signature: '' }]),
          ...(textOf(turn) === '' ? [] : [{ type: 'text', text: textOf(turn) }]),
          ...toolCalls.map(({ id, name, input }) => ({ type: 'tool_use', id, name, input: JSON.parse(input) })),
        ]
        return { role: 'assistant', content }
      }),
      ...(tools.length > 0 && {
        tools: tools.map(({ name, description, parameters }) => ({
          name,
          description,
          input_schema: parameters ?? { type: 'object' },
        })),
      }),
    },
  }
}

function isObject(json: string): boolean {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}
