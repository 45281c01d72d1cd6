import type { FunctionTool } from '../../contract/request.ts'
import type { CountWire } from './schema.ts'

/** The names of the tools that results of tool searches refer to. */
export function referencedTools({ messages }: Pick<CountWire, 'messages'>): ReadonlySet<string> {
  const names = new Set<string>()
  for (const { role, content } of messages) {
    if (role !== 'user' || typeof content === 'string') continue
    for (const block of content) {
      if (block.type !== 'tool_result' || !Array.isArray(block.content)) continue
      for (const item of block.content) if (item.type === 'tool_reference') names.add(item.tool_name)
    }
  }
  return names
}

/**
 * A tool in a search result, in the form that Claude Code's search announces: the prompt's list of tools stays unchanged. Undefined for an
 * undeclared tool.
 */
export function describeTool(name: string, tools: readonly FunctionTool[]): string | undefined {
  const tool = tools.find((declared) => declared.name === name)
  if (tool === undefined) return undefined
  const { description, parameters } = tool
  return `<function>${JSON.stringify({ description, name, parameters })}</function>`
}
