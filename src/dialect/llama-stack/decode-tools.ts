import { AppError } from '../../contract/errors.ts'
import type { FunctionTool, JsonObject, ToolChoice } from '../../contract/request.ts'
import { preview } from '../wire/preview.ts'
import { ownName } from './own-names.ts'
import type { PromptFormat, ToolWire, WireParameter, WireTool } from './schema.ts'

/** The tools of a request, and how the prompt presents them. */
export type DecodedTools = {
  readonly tools: readonly FunctionTool[]
  readonly toolChoice: ToolChoice
  /** Absent: as the model's own chat template does. */
  readonly format?: PromptFormat
  /** The system message contains `{{function_definitions}}`, which the definitions replace. */
  readonly replacesSystem: boolean
}

/**
 * Throws for a name that is declared twice, contradictory settings, and a choice of an undeclared tool, unless it may be one of the
 * server's (`hasOthers`), whose names the tool loop knows.
 */
export function decodeTools(wire: ToolWire, hasOthers = false): DecodedTools {
  const tools = decodeDefinitions(wire.tools ?? [])
  const format = agreed(wire, 'tool_prompt_format')
  return {
    tools,
    toolChoice: decodeChoice(agreed(wire, 'tool_choice') ?? 'auto', { tools, hasOthers }, wire),
    ...(format !== undefined && { format }),
    replacesSystem: wire.tool_config?.system_message_behavior === 'replace',
  }
}

function decodeDefinitions(wire: readonly WireTool[]): FunctionTool[] {
  const names = new Set<string>()
  return wire.map((tool, index) => {
    const { tool_name: name } = tool
    if (names.has(name)) {
      const param = `tools[${index}].tool_name`
      throw new AppError('invalid-request', `${param} ${preview(name)} is declared twice: names must differ`, { param })
    }
    names.add(name)
    return decodeDefinition(tool, `tools[${index}].parameters`)
  })
}

function decodeDefinition({ tool_name: name, description, parameters }: WireTool, path: string): FunctionTool {
  const schema = parameters && Object.keys(parameters).length > 0 ? toJsonSchema(parameters, path) : undefined
  return {
    name,
    ...builtInTool(name),
    ...(typeof description === 'string' && { description }),
    ...(schema !== undefined && { parameters: schema }),
  }
}

/** A setting with two places; the one outside `tool_config` is older. */
function agreed<Name extends 'tool_choice' | 'tool_prompt_format'>(
  wire: ToolWire,
  name: Name,
): NonNullable<NonNullable<ToolWire['tool_config']>[Name]> | undefined {
  const config = wire.tool_config?.[name] ?? undefined
  const legacy = wire[name] ?? undefined
  if (config !== undefined && legacy !== undefined && legacy !== config) {
    const message = `${name} ${preview(legacy)} and tool_config.${name} ${preview(config)} contradict each other: send one of them`
    throw new AppError('invalid-request', message, { param: name })
  }
  return config ?? legacy
}

type Choosable = { readonly tools: readonly FunctionTool[]; readonly hasOthers: boolean }

function decodeChoice(choice: string, { tools, hasOthers }: Choosable, { tool_config }: ToolWire): ToolChoice {
  const param = tool_config?.tool_choice ? 'tool_config.tool_choice' : 'tool_choice'
  switch (choice) {
    case 'auto':
    case 'none':
      return { type: choice }
    case 'required':
      if (tools.length > 0 || hasOthers) return { type: 'required' }
      throw new AppError('invalid-request', `${param} "required" needs a tool to call: send tools`, { param })
  }
  if (tools.some(({ name }) => name === choice)) return { type: 'required', names: [choice] }
  if (hasOthers) return { type: 'required', names: [ownName(choice)] }
  const known = preview(['auto', 'required', 'none', ...tools.map(({ name }) => name)])
  const message = `${param} ${preview(choice)} is not declared in tools; expected one of ${known}`
  throw new AppError('invalid-request', message, { param })
}

/**
 * Tools that Llama models know by name. A request may name them without parameters; other models need these, and a description. The client
 * runs them like all others.
 */
const builtIns: ReadonlyMap<string, Omit<FunctionTool, 'name'>> = new Map([
  ['brave_search', takes('query', 'Searches the web.', 'What to search for.')],
  ['wolfram_alpha', takes('query', 'Answers questions of mathematics, science and data.', 'The question.')],
  ['photogen', takes('query', 'Draws a picture.', 'What the picture shows.')],
  ['code_interpreter', takes('code', 'Runs Python code, and returns what it prints.', 'The code.')],
])

/** The definition of a built-in tool; undefined for other names. */
function builtInTool(name: string): FunctionTool | undefined {
  const known = builtIns.get(name)
  return known === undefined ? undefined : { name, ...known }
}

function takes(parameter: string, description: string, about: string): Omit<FunctionTool, 'name'> {
  const parameters = {
    type: 'object',
    properties: { [parameter]: { type: 'string', description: about } },
    required: [parameter],
  }
  return { description, parameters }
}

/** Python's names of types, and JSON Schema's own. */
const typeNames: Readonly<Record<string, string>> = {
  int: 'integer',
  float: 'number',
  bool: 'boolean',
  str: 'string',
  list: 'array',
  dict: 'object',
  integer: 'integer',
  number: 'number',
  boolean: 'boolean',
  string: 'string',
  array: 'array',
  object: 'object',
  null: 'null',
}
const listPattern = /^(?:list|array)\[(.+)\]$/
/** No program has types that are nested more deeply. */
const maxDepth = 16

/** The JSON Schema of a tool's parameters, at a path such as `tools[0].parameters`. Throws for an unknown type. */
function toJsonSchema(parameters: Readonly<Record<string, WireParameter>>, path: string): JsonObject {
  const entries = Object.entries(parameters)
  const required = entries.filter(([, parameter]) => parameter.required ?? true).map(([name]) => name)
  return {
    type: 'object',
    properties: Object.fromEntries(
      entries.map(([name, parameter]) => [name, propertyOf(parameter, `${path}.${name}.param_type`)] as const),
    ),
    ...(required.length > 0 && { required }),
  }
}

function propertyOf({ param_type, description, default: fallback }: WireParameter, path: string): JsonObject {
  return {
    ...typeSchema(param_type.trim(), path),
    ...(typeof description === 'string' && { description }),
    // 0, false and "" are values.
    ...(fallback !== undefined && fallback !== null && { default: fallback }),
  }
}

function typeSchema(type: string, path: string, depth = 0): JsonObject {
  const item = depth < maxDepth ? listPattern.exec(type)?.[1] : undefined
  if (item !== undefined) return { type: 'array', items: typeSchema(item.trim(), path, depth + 1) }
  const known = Object.hasOwn(typeNames, type) ? typeNames[type] : undefined
  if (known !== undefined) return { type: known }
  const message = `${path}: expected one of ${Object.keys(typeNames).join(', ')}, or list[TYPE], got ${preview(type)}`
  throw new AppError('invalid-request', message, { param: path })
}
