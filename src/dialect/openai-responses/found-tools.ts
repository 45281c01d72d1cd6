import type { DecodedTools } from './decode-tools.ts'
import type { ToolName } from './namespaces.ts'
import { isKnownTool, type WireTool } from './tool-schema.ts'

/** What a search found, as its result shows it to the model; the names are those that the model can call. */
export function describeFound(found: readonly WireTool[], { tools, names }: Pick<DecodedTools, 'tools' | 'names'>): string {
  const flat = new Set(found.flatMap(membersOf).map((tool) => names.flatten(tool)))
  const lines = tools.flatMap((tool) => {
    if (!flat.has(tool.name) || tool.type === 'server') return []
    const { name, description } = tool
    const parameters = tool.type === 'custom' ? undefined : tool.parameters
    return [`<function>${JSON.stringify({ description, name, parameters })}</function>`]
  })
  return lines.length === 0 ? 'No tools were found.' : lines.join('\n')
}

function membersOf(tool: WireTool): readonly ToolName[] {
  if (!isKnownTool(tool)) return []
  if (tool.type !== 'namespace') return [{ name: tool.name }]
  return tool.tools.map(({ name }) => ({ name, namespace: tool.name }))
}
