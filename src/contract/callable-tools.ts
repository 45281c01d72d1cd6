import type { Tool, ToolChoice } from './request.ts'

/** Of the declared tools those that may be called. */
export function callableTools(tools: readonly Tool[], toolChoice: ToolChoice): readonly Tool[] {
  if (toolChoice.type === 'none') return []
  if (toolChoice.names === undefined) return tools
  const names = new Set(toolChoice.names)
  return tools.filter(({ name }) => names.has(name))
}
