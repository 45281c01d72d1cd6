import { AppError } from '../../contract/errors.ts'
import { field } from '../../contract/field.ts'
import type { Tool, ToolChoice } from '../../contract/request.ts'
import type { ServerTool } from '../../contract/server-tool.ts'

type Tools = ReadonlyMap<string, ServerTool>

/** Resolves the name of an MCP server in a choice to all of its tools. Throws `invalid-request` for a required call of unknown tools. */
export function resolveChoice(choice: ToolChoice, tools: Tools, declared: readonly Tool[]): ToolChoice {
  if (choice.type === 'none') return choice
  const own = new Set(declared.map(({ name }) => name))
  const names = choice.names?.flatMap((name) => (own.has(name) || tools.has(name) ? [name] : toolsOfServer(name, tools)))
  const isEmpty = names === undefined ? own.size + tools.size === 0 : names.length === 0
  if (!isEmpty) return { ...choice, ...(names !== undefined && { names }) }
  if (choice.type === 'auto') return names === undefined ? choice : { type: 'none' }
  const there = [...own, ...tools.keys()].join(', ')
  const wanted = choice.names === undefined ? 'requires a call' : `names tools that are not there: ${choice.names.join(', ')}`
  const message = `${field('toolChoice')} ${wanted}; ${there === '' ? 'the request has no tools that it may call' : `there are: ${there}`}`
  throw new AppError('invalid-request', message, { at: ['toolChoice'] })
}

/** The tools that a choice allows: calls of others are not executed. */
export function allowedTools(tools: Tools, choice: ToolChoice): Tools {
  if (choice.type === 'none') return new Map()
  const names = restrictionOf(choice)
  return names === undefined ? tools : new Map([...tools].filter(([name]) => names.includes(name)))
}

/** The names of the caller's tools that the model may call. */
export function callersNames(declared: readonly Tool[], choice: ToolChoice): ReadonlySet<string> {
  const names = restrictionOf(choice)
  return new Set(declared.flatMap(({ name }) => (names === undefined || names.includes(name) ? [name] : [])))
}

/** The choice of the turns after the first, when a required call has been made. */
export function laterChoice(choice: ToolChoice): ToolChoice {
  if (choice.type === 'none') return choice
  const names = restrictionOf(choice)
  return { type: 'auto', ...(names !== undefined && { names }) }
}

/** A required call of one tool restricts only the beginning of the reply. */
function restrictionOf(choice: ToolChoice): readonly string[] | undefined {
  if (choice.type === 'none' || choice.names === undefined) return undefined
  return choice.type === 'required' && choice.names.length === 1 ? undefined : choice.names
}

function toolsOfServer(server: string, tools: Tools): readonly string[] {
  return [...tools.values()].flatMap(({ name, mcp }) => (mcp?.server === server ? [name] : []))
}
