import { startOf } from '../../base/start-of.ts'
import type { JsonObject } from '../../contract/request.ts'
import type { ToolList } from './connection.ts'
import { modelNames } from './tool-names.ts'

/** A tool as models see it, and its name on its server. */
type DescribedTool = {
  readonly name: string
  readonly ownName: string
  readonly description: string
  readonly parameters: JsonObject
}

const maxTools = 128
const maxDescription = 4000
const maxNameLength = 256

/** The tools of a server that models can get, and what was left out. */
export function describeTools(
  server: string,
  { tools: listed, left: leftBefore }: ToolList,
  allowed: readonly string[] | undefined,
): { readonly tools: readonly DescribedTool[]; readonly left: readonly string[] } {
  const unique = new Map(listed.map((tool) => [tool.name, tool]))
  const wanted = [...unique.values()].filter(({ name }) => allowed === undefined || allowed.includes(name))
  const names = modelNames(server, [...unique.keys()])
  const missing = (allowed ?? []).filter((name) => !unique.has(name))
  const left = [...leftBefore, ...missing.map((name) => `it has no tool '${name}' (allowedTools)`)]
  const tools: DescribedTool[] = []
  for (const { name, description = '', inputSchema } of wanted) {
    if (name === '' || name.length > maxNameLength) left.push('a tool has no name, or one that is too long')
    else if (tools.length === maxTools)
      left.push(`it has ${wanted.length} tools, more than ${maxTools}: list those to use in allowedTools`)
    else {
      const parameters = { properties: {}, ...inputSchema } as JsonObject
      tools.push({ name: names.get(name) ?? name, ownName: name, description: startOf(description, maxDescription), parameters })
    }
  }
  return { tools, left: [...new Set(left)] }
}
