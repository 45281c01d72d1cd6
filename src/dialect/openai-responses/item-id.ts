import { randomHex } from '../../base/random-hex.ts'

/** The prefix of each kind of item: messages, reasoning, calls, their results, searches for tools, compactions, and all other items. */
type Prefix = 'msg' | 'rs' | 'fc' | 'fco' | 'ctc' | 'ctco' | 'tsc' | 'tso' | 'at' | 'cmp' | 'item'

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
}

/** A new id for an item that came without one. */
export function createIdFor(type: string): string {
  return createItemId(Object.hasOwn(prefixes, type) ? (prefixes[type] ?? 'item') : 'item')
}
