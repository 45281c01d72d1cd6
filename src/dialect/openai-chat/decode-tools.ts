import { AppError } from '../../contract/errors.ts'
import type { Tool, ToolChoice } from '../../contract/request.ts'
import { refuseLargeJson } from '../openai/large-json.ts'
import { preview } from '../wire/preview.ts'
import type { ChatWire } from './schema.ts'
import type { WireAllowedTools, WireFunction, WireTool } from './tool-schema.ts'

/** The tools of a request. `legacy`: the request has `functions`, so the reply has a `function_call`. */
export type DecodedTools = {
  readonly tools: readonly Tool[]
  readonly toolChoice: ToolChoice
  readonly parallelToolCalls: boolean
  readonly legacy: boolean
}

/** Throws for invalid tools, and for a choice of a tool that is not declared. */
export function decodeTools(wire: ChatWire): DecodedTools {
  const { functions, function_call, tool_choice, parallel_tool_calls } = wire
  const tools = (wire.tools ?? []).map((tool, index) => decodeTool(tool, `tools[${index}]`))
  refuseRepeatedNames(tools, (index) => `tools[${index}].function.name`)
  if (functions === undefined || functions === null || functions.length === 0) {
    refuseChoiceWithoutTools('function_call', function_call, 'functions')
    if (tools.length === 0) refuseChoiceWithoutTools('tool_choice', tool_choice, 'tools')
    const toolChoice = decodeToolChoice(tool_choice, tools)
    return { tools, toolChoice, parallelToolCalls: parallel_tool_calls ?? true, legacy: false }
  }
  if (tools.length > 0 || (tool_choice !== undefined && tool_choice !== null)) {
    const other = tools.length > 0 ? 'tools' : 'tool_choice'
    throw invalid('functions', `functions is the deprecated form of tools and cannot be combined with ${other}: send tools`)
  }
  const declared = functions.map((item, index) => decodeFunction(item, `functions[${index}]`))
  refuseRepeatedNames(declared, (index) => `functions[${index}].name`)
  // A reply can contain one `function_call` only.
  return { tools: declared, toolChoice: decodeFunctionChoice(function_call, declared), parallelToolCalls: false, legacy: true }
}

function decodeTool({ type, function: declared }: WireTool, path: string): Tool {
  if (typeof type === 'string' && type !== 'function') {
    const message = `${path}.type ${preview(type)} is not supported: declare it as a tool of type "function"`
    throw new AppError('unsupported-field', message, { param: `${path}.type` })
  }
  if (!declared) throw invalid(`${path}.function`, `${path}.function is missing: expected an object`)
  return decodeFunction(declared, `${path}.function`)
}

function decodeFunction({ name, description, parameters, strict }: WireFunction, path: string): Tool {
  refuseLargeJson(parameters, `${path}.parameters`)
  return {
    name,
    ...(typeof description === 'string' && { description }),
    ...(parameters && { parameters }),
    ...(typeof strict === 'boolean' && { strict }),
  }
}

function refuseRepeatedNames(tools: readonly Tool[], pathOf: (index: number) => string): void {
  const seen = new Set<string>()
  for (const [index, { name }] of tools.entries()) {
    if (seen.has(name)) throw invalid(pathOf(index), `${pathOf(index)} ${preview(name)} is declared twice: names must differ`)
    seen.add(name)
  }
}

/** As in OpenAI's API: without tools, `none` is the default and the only valid choice. */
function refuseChoiceWithoutTools(param: string, choice: unknown, tools: string): void {
  if (choice === undefined || choice === null || choice === 'none') return
  throw invalid(param, `${param} is only allowed when ${tools} are specified, got ${preview(choice)} without any`)
}

function decodeToolChoice(choice: ChatWire['tool_choice'], tools: readonly Tool[]): ToolChoice {
  if (choice === undefined || choice === null) return { type: 'auto' }
  if (typeof choice === 'string') return { type: choice }
  switch (choice.type) {
    case 'function':
      return { type: 'required', names: [requireDeclared(choice.function.name, namesOf(tools), 'tool_choice')] }
    case 'allowed_tools':
      return { type: choice.allowed_tools.mode, names: decodeAllowed(choice.allowed_tools, tools) }
    case 'custom': {
      const message = 'tool_choice of type "custom" is not supported: choose a tool of type "function"'
      throw new AppError('unsupported-field', message, { param: 'tool_choice' })
    }
  }
}

function decodeAllowed({ tools: allowed }: WireAllowedTools, tools: readonly Tool[]): string[] {
  const declared = namesOf(tools)
  const names = allowed.map(({ type, function: named }, index) => {
    const path = `tool_choice.allowed_tools.tools[${index}]`
    if (typeof type === 'string' && type !== 'function') {
      throw new AppError('unsupported-field', `${path}.type ${preview(type)} is not supported: only "function" is`, {
        param: 'tool_choice',
      })
    }
    if (!named) throw invalid('tool_choice', `${path}.function is missing: expected an object with a name`)
    return requireDeclared(named.name, declared, 'tool_choice')
  })
  return [...new Set(names)]
}

function decodeFunctionChoice(choice: ChatWire['function_call'], tools: readonly Tool[]): ToolChoice {
  if (choice === undefined || choice === null) return { type: 'auto' }
  if (typeof choice === 'string') return { type: choice }
  return { type: 'required', names: [requireDeclared(choice.name, namesOf(tools), 'function_call')] }
}

function namesOf(tools: readonly Tool[]): ReadonlySet<string> {
  return new Set(tools.map(({ name }) => name))
}

function requireDeclared(name: string, declared: ReadonlySet<string>, param: string): string {
  if (declared.has(name)) return name
  const known = preview([...declared])
  throw invalid(param, `${param} names ${preview(name)}, which is not declared; the declared functions are ${known}`)
}

function invalid(param: string, message: string): AppError {
  return new AppError('invalid-request', message, { param })
}
