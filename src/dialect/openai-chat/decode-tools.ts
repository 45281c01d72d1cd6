import { AppError } from '../../contract/errors.ts'
import type { CustomTool, FunctionTool, Tool, ToolChoice } from '../../contract/request.ts'
import { refuseLargeJson } from '../openai/large-json.ts'
import { invalid } from '../wire/invalid.ts'
import { preview } from '../wire/preview.ts'
import type { ChatWire } from './schema.ts'
import type { WireAllowedTools, WireCustom, WireFunction, WireTool } from './tool-schema.ts'

/** The tools of a request. `legacy`: the request has `functions`, so the reply has a `function_call`. */
export type DecodedTools = {
  readonly tools: readonly Tool[]
  readonly toolChoice: ToolChoice
  readonly parallelToolCalls: boolean
  readonly legacy: boolean
}

/**
 * Throws for invalid tools, and for a choice of an undeclared tool. `hasOthers`: the server runs tools of its own for the request, which
 * may be chosen; the tool loop knows their names.
 */
export function decodeTools(wire: ChatWire, hasOthers = false): DecodedTools {
  const { functions, function_call, tool_choice, parallel_tool_calls } = wire
  const tools = (wire.tools ?? []).map((tool, index) => decodeTool(tool, `tools[${index}]`))
  refuseRepeatedNames(tools, (index) => `tools[${index}].${kindOf(tools[index])}.name`)
  if (functions === undefined || functions === null || functions.length === 0) {
    refuseChoiceWithoutTools('function_call', function_call, 'functions')
    if (tools.length === 0 && !hasOthers) refuseChoiceWithoutTools('tool_choice', tool_choice, 'tools')
    const toolChoice = decodeToolChoice(tool_choice, hasOthers ? undefined : tools)
    return { tools, toolChoice, parallelToolCalls: parallel_tool_calls ?? true, legacy: false }
  }
  if (tools.length > 0 || (tool_choice !== undefined && tool_choice !== null)) {
    const other = tools.length > 0 ? 'tools' : 'tool_choice'
    throw invalid('functions', `functions is the deprecated form of tools and cannot be combined with ${other}: send tools`)
  }
  const declared = functions.map((item, index) => decodeFunction(item, `functions[${index}]`))
  refuseRepeatedNames(declared, (index) => `functions[${index}].name`)
  // A reply can contain only one `function_call`.
  return { tools: declared, toolChoice: decodeFunctionChoice(function_call, declared), parallelToolCalls: false, legacy: true }
}

/** Our tools that correspond to OpenAI's types. */
const serversOwn: Readonly<Record<string, string | undefined>> = { code_interpreter: 'python', web_search: 'web_search' }

function decodeTool({ type, function: declared, custom }: WireTool, path: string): Tool {
  if (type === 'custom') return decodeCustom(custom ?? missing(`${path}.custom`, `${path}.custom`))
  if (typeof type === 'string' && type !== 'function') {
    const own = serversOwn[type]
    const instead = own === undefined ? '' : `, or send \`enable_tools\` with \`enabled_tools: ["${own}"]\`, which runs here`
    const message = `${path}.type ${preview(type)} is not supported: declare it as a tool of type "function" or "custom"${instead}`
    throw new AppError('unsupported-field', message, { param: `${path}.type` })
  }
  return decodeFunction(declared ?? missing(`${path}.function`, `${path}.function`), `${path}.function`)
}

function decodeCustom({ name, description, format }: WireCustom): CustomTool {
  return {
    type: 'custom',
    name,
    ...(typeof description === 'string' && { description }),
    ...(format?.type === 'grammar' && { grammar: { syntax: format.grammar.syntax, definition: format.grammar.definition } }),
  }
}

function decodeFunction({ name, description, parameters, strict }: WireFunction, path: string): FunctionTool {
  refuseLargeJson(parameters, `${path}.parameters`)
  return {
    name,
    ...(typeof description === 'string' && { description }),
    ...(parameters && { parameters }),
    ...(typeof strict === 'boolean' && { strict }),
  }
}

function refuseRepeatedNames(tools: readonly Tool[], pathOf: (index: number) => string): void {
  const seen = new Map<string, number>()
  for (const [index, { name }] of tools.entries()) {
    const first = seen.get(name)
    if (first !== undefined) {
      const message = `${pathOf(index)} ${preview(name)} is also ${pathOf(first)}: names must differ`
      throw invalid(pathOf(index), message)
    }
    seen.set(name, index)
  }
}

/** As in OpenAI's API: without tools, `none` is the default and the only valid choice. */
function refuseChoiceWithoutTools(param: string, choice: unknown, tools: string): void {
  // MLC-LLM's and tabbyAPI's clients always send `auto`.
  if (choice === undefined || choice === null || choice === 'none' || choice === 'auto') return
  throw invalid(param, `${param} is only allowed when ${tools} are specified, got ${preview(choice)} without any`)
}

/** `tools`: those that may be chosen; undefined: any. */
function decodeToolChoice(choice: ChatWire['tool_choice'], tools: readonly Tool[] | undefined): ToolChoice {
  if (choice === undefined || choice === null) return { type: 'auto' }
  if (typeof choice === 'string') return { type: choice === 'any' ? 'required' : choice }
  switch (choice.type) {
    case 'function':
      return { type: 'required', names: [requireDeclared(choice.function.name, declaredIn(tools, 'function'), 'tool_choice')] }
    case 'custom':
      return { type: 'required', names: [requireDeclared(choice.custom.name, declaredIn(tools, 'custom'), 'tool_choice')] }
    case 'allowed_tools':
      return { type: choice.allowed_tools.mode, names: decodeAllowed(choice.allowed_tools, tools) }
  }
}

function decodeAllowed({ tools: allowed }: WireAllowedTools, tools: readonly Tool[] | undefined): string[] {
  const declared = { function: declaredIn(tools, 'function'), custom: declaredIn(tools, 'custom') }
  const names = allowed.map(({ type, ...named }, index) => {
    const path = `tool_choice.allowed_tools.tools[${index}]`
    if (typeof type === 'string' && type !== 'function' && type !== 'custom') {
      throw new AppError(
        'unsupported-field',
        `${path}.type ${preview(type)} is not supported: only "function" and "custom" are`,
        {
          param: 'tool_choice',
        },
      )
    }
    const kind = type === 'custom' ? 'custom' : 'function'
    const { name } = named[kind] ?? missing('tool_choice', `${path}.${kind}`)
    return requireDeclared(name, declared[kind], 'tool_choice')
  })
  return [...new Set(names)]
}

function decodeFunctionChoice(choice: ChatWire['function_call'], tools: readonly Tool[]): ToolChoice {
  if (choice === undefined || choice === null) return { type: 'auto' }
  if (typeof choice === 'string') return { type: choice }
  return { type: 'required', names: [requireDeclared(choice.name, declaredIn(tools, 'function'), 'function_call')] }
}

type Kind = 'function' | 'custom'
/** Without names: any may be chosen. */
type Declared = { readonly kind: Kind; readonly names?: ReadonlySet<string> }

function kindOf(tool: Tool | undefined): Kind {
  return tool?.type === 'custom' ? 'custom' : 'function'
}

function declaredIn(tools: readonly Tool[] | undefined, kind: Kind): Declared {
  if (tools === undefined) return { kind }
  return { kind, names: new Set(tools.filter((tool) => kindOf(tool) === kind).map(({ name }) => name)) }
}

function requireDeclared(name: string, { kind, names }: Declared, param: string): string {
  if (names === undefined || names.has(name)) return name
  const known = `the declared ${kind === 'custom' ? 'custom tools' : 'functions'} are ${preview([...names])}`
  throw invalid(param, `${param} names ${preview(name)}, which is not declared; ${known}`)
}

function missing(param: string, path: string): never {
  throw invalid(param, `${path} is missing: expected an object with a name`)
}
