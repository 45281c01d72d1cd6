import { AppError } from '../../contract/errors.ts'
import { field } from '../../contract/field.ts'
import type { Tool, ToolChoice } from '../../contract/request.ts'
import type { ServerTool } from '../../contract/server-tool.ts'

type Tools = ReadonlyMap<string, ServerTool>

/**
 * A choice in which the name of an MCP server stands for all of its tools. Throws `invalid-request` for a required call of tools that are
 * not there.
 */
export function resolveChoice(choice: ToolChoice, tools: Tools, declared: readonly Tool[]): ToolChoice {
  if (choice.type === 'none' || choice.names === undefined) return choice
  const own = new Set(declared.map(({ name }) => name))
  const names = choice.names.flatMap((name) => (own.has(name) || tools.has(name) ? [name] : toolsOfServer(name, tools)))
  if (names.length > 0) return { ...choice, names }
  if (choice.type === 'auto') return { type: 'none' }
  const message = `${field('toolChoice')} names tools that are not there: ${choice.names.join(', ')}`
  throw new AppError('invalid-request', message, { at: ['toolChoice'] })
}

/** The tools that a choice leaves: a call of another is not executed. */
export function allowedTools(tools: Tools, choice: ToolChoice): Tools {
  const names = restrictionOf(choice)
  return names === undefined ? tools : new Map([...tools].filter(([name]) => names.includes(name)))
}

/** The names of the caller's tools that it may be asked to call. */
export function callersNames(declared: readonly Tool[], choice: ToolChoice): ReadonlySet<string> {
  const names = restrictionOf(choice)
  return new Set(declared.flatMap(({ name }) => (names === undefined || names.includes(name) ? [name] : [])))
}

/** The choice of the turns after the first: a required call has been made. */
export function laterChoice(choice: ToolChoice): ToolChoice {
  const names = restrictionOf(choice)
  return { type: 'auto', ...(names !== undefined && { names }) }
}

/** A required call of one tool says only how the reply begins. */
function restrictionOf(choice: ToolChoice): readonly string[] | undefined {
  if (choice.type === 'none' || choice.names === undefined) return undefined
  return choice.type === 'required' && choice.names.length === 1 ? undefined : choice.names
}

function toolsOfServer(server: string, tools: Tools): readonly string[] {
  return [...tools.values()].flatMap(({ name, mcp }) => (mcp?.server === server ? [name] : []))
}
