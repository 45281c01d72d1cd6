import { randomHex } from '../../base/random-hex.ts'

/** The prefix of each kind of item: messages, reasoning, calls, their results, searches for tools, compactions, and all other items. */
type Prefix = 'msg' | 'rs' | 'fc' | 'fco' | 'ctc' | 'ctco' | 'tsc' | 'tso' | 'at' | 'cmp' | ServerPrefix | 'item'
/** Prefixes for server tools: searches, programs, tools of MCP servers, lists of these, requests for approval, and answers. */
type ServerPrefix = 'ws' | 'ci' | 'mcp' | 'mcpl' | 'mcpr' | 'mcpa'

export function createItemId(prefix: Prefix): string {
  return `${prefix}_${randomHex()}`
}

const prefixes: Readonly<Record<string, Prefix>> = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  function_call_output: 'fco',
  custom_tool_call: 'ctc',
  custom_tool_call_output: 'ctco',
  additional_tools: 'at',
  tool_search_call: 'tsc',
  tool_search_output: 'tso',
  compaction: 'cmp',
  web_search_call: 'ws',
  code_interpreter_call: 'ci',
  mcp_call: 'mcp',
  mcp_list_tools: 'mcpl',
  mcp_approval_request: 'mcpr',
  mcp_approval_response: 'mcpa',
}

/** A new id for an item that came without one. */
export function createIdFor(type: string): string {
  return createItemId(Object.hasOwn(prefixes, type) ? (prefixes[type] ?? 'item') : 'item')
}
