import type { FunctionTool, JsonObject, Tool, ToolChoice } from '../contract/request.ts'

/** The declared functions, without other kinds of tools. */
export function functionTools(tools: readonly Tool[]): readonly FunctionTool[] {
  return tools.every(isFunctionTool) ? tools : tools.filter(isFunctionTool)
}

/** The functions listed at the beginning of a prompt; a later message describes the others. */
export function listedTools(tools: readonly Tool[]): readonly FunctionTool[] {
  return functionTools(tools).filter(({ isDeferred }) => isDeferred !== true)
}

/** The declared functions that may be called. */
export function callableTools(tools: readonly Tool[], toolChoice: ToolChoice): readonly FunctionTool[] {
  if (toolChoice.type === 'none') return []
  const functions = functionTools(tools)
  if (toolChoice.names === undefined) return functions
  const names = new Set(toolChoice.names)
  return functions.filter(({ name }) => names.has(name))
}

/** The functions with their enforced schema as `parameters`. */
export function enforcedTools(tools: readonly FunctionTool[]): readonly FunctionTool[] {
  return tools.map(({ enforced, ...tool }) => (enforced === undefined ? tool : { ...tool, parameters: enforced }))
}

/** The schema of a tool's arguments, which are always an object: without members if the tool declares nothing, because a model might never end. */
export function argumentsSchema({ parameters = {} }: { readonly parameters?: JsonObject | undefined }): JsonObject {
  if (Object.keys(parameters).length === 0) return { type: 'object', properties: {}, additionalProperties: false }
  return parameters.type === 'object' ? parameters : { ...parameters, type: 'object' }
}

export function isFunctionTool(tool: Tool): tool is FunctionTool {
  return tool.type === undefined || tool.type === 'function'
}
