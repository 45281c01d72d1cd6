import type { JsonObject } from '../../../contract/request.ts'

type Event = readonly [type: string, fields?: JsonObject]

/** Items of server tools, and of the steps before they run. */
const types: ReadonlySet<unknown> = new Set(['web_search_call', 'code_interpreter_call', 'mcp_call', 'mcp_list_tools'])

export function isServerItem({ type }: JsonObject): boolean {
  return types.has(type)
}

/** An item of a tool of the server before its first event. */
export function beginningOfServerItem(item: JsonObject): JsonObject {
  switch (item.type) {
    case 'web_search_call': {
      const { output: _, ...begun } = item
      return { ...begun, status: 'in_progress' }
    }
    case 'code_interpreter_call':
      return { ...item, status: 'in_progress', code: '', outputs: [] }
    case 'mcp_call':
      return { ...item, status: 'in_progress', arguments: '', output: null, error: null }
    default: {
      const { error: _, ...begun } = item
      return { ...begun, tools: [] }
    }
  }
}

/** The events between `output_item.added` and the work of the tool. */
export function beginServerItem(item: JsonObject): readonly Event[] {
  switch (item.type) {
    case 'web_search_call':
      return [['response.web_search_call.in_progress'], ['response.web_search_call.searching']]
    case 'code_interpreter_call': {
      const { code } = item
      return [
        ['response.code_interpreter_call.in_progress'],
        ...(code === '' ? [] : [['response.code_interpreter_call_code.delta', { delta: code }] as const]),
        ['response.code_interpreter_call_code.done', { code }],
        ['response.code_interpreter_call.interpreting'],
      ]
    }
    case 'mcp_call':
      return [
        ['response.mcp_call.in_progress'],
        ['response.mcp_call_arguments.delta', { delta: item.arguments }],
        ['response.mcp_call_arguments.done', { arguments: item.arguments }],
      ]
    default:
      return [['response.mcp_list_tools.in_progress']]
  }
}

/** The events between the work of the tool and `output_item.done`. The protocol has a failure event only for MCP servers. */
export function endServerItem(item: JsonObject): readonly Event[] {
  const hasFailed = item.type === 'mcp_list_tools' ? 'error' in item : item.status !== 'completed'
  if (!hasFailed) return [[`response.${item.type}.completed`]]
  const hasEvent = item.type === 'mcp_list_tools' || (item.type === 'mcp_call' && item.status === 'failed')
  return hasEvent ? [[`response.${item.type}.failed`]] : []
}
