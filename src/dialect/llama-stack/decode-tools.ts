import { AppError } from '../../contract/errors.ts'
import type { FunctionTool, ToolChoice } from '../../contract/request.ts'
import { preview } from '../wire/preview.ts'
import { builtInTool } from './built-in-tools.ts'
import { ownName } from './own-names.ts'
import { toJsonSchema } from './parameter-schema.ts'
import type { PromptFormat, ToolWire, WireTool } from './schema.ts'

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
