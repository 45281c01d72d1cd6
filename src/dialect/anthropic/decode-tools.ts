import type { FunctionTool, ToolChoice } from '../../contract/request.ts'
import { invalid } from '../wire/invalid.ts'
import { preview } from '../wire/preview.ts'
import { leftOut, notRunHere } from '../wire/server-tools/hosted-tools.ts'
import { clientTool } from './client-tools.ts'
import { type Available, HostedTools } from './hosted-tools.ts'
import type { CountWire, MessageWire, WireTool } from './schema.ts'
import { referencedTools } from './tool-references.ts'

type ToolsWire = Pick<CountWire, 'tools' | 'tool_choice' | 'messages' | 'mcp_servers'> &
  Partial<Pick<MessageWire, 'enable_tools' | 'enabled_tools'>>

export type DecodedTools = {
  readonly tools: readonly FunctionTool[]
  readonly toolChoice: ToolChoice
  readonly parallelToolCalls: boolean
  /** The tools that this server runs. */
  readonly hosted: HostedTools
  /**
   * Tools that the model cannot call here: those that only Anthropic's servers run, and deferred ones that no search has found; and
   * settings without effect.
   */
  readonly ignored: readonly string[]
  /** The index in the request of each tool. */
  readonly indices: readonly number[]
}

/**
 * Tools of Anthropic's servers that a caller declares to rely on them: refused if this server lacks them. Agents declare others, such as
 * `web_search_20250305`, by habit beside their own.
 */
const refusedTools = ['code_execution_', 'mcp_toolset']
/** Anthropic's servers would search for deferred tools; here the model sees them all, since nothing finds them later. */
const searchTools = 'tool_search_tool_'

/**
 * Throws for a tool without a schema, a name that is declared twice, a tool that does not run here (unless agents declare it by habit), and
 * a choice of an undeclared tool.
 */
export function decodeTools(asked: ToolsWire, available: Available): DecodedTools {
  const { tools: wire, tool_choice, messages, mcp_servers } = asked
  const run = new HostedTools(available)
  run.addServers(mcp_servers)
  const isSearchedElsewhere = (wire ?? []).some(({ type }) => type?.startsWith(searchTools))
  const referenced = isSearchedElsewhere ? undefined : referencedTools({ messages })
  const tools: FunctionTool[] = []
  const ignored: string[] = []
  const indices: number[] = []
  const names = new Set<string>()
  let hosted: readonly [type: string, path: string] | undefined
  for (const [index, tool] of (wire ?? []).entries()) {
    const path = `tools[${index}]`
    const { type } = tool
    if (isHosted(type)) {
      if (run.add(tool, path)) continue
      if (refusedTools.some((prefix) => type.startsWith(prefix))) throw notRunHere(type, path)
      hosted ??= [type, path]
      ignored.push(leftOut(type, path))
      continue
    }
    const made = decodeTool(tool, path, referenced)
    if (made === undefined) {
      ignored.push(path)
      continue
    }
    if (names.has(made.name)) {
      const param = `tools[${index}].name`
      throw invalid(param, `${param} ${preview(made.name)} is declared twice: names must differ`)
    }
    names.add(made.name)
    tools.push(made)
    indices.push(index)
  }
  if (hosted !== undefined && tools.length === 0 && run.isEmpty) throw notRunHere(...hosted)
  return {
    tools,
    toolChoice: decodeChoice(tool_choice, { declared: names, hosted: run, hasOthers: enablesTools(asked) }),
    parallelToolCalls: tool_choice?.disable_parallel_tool_use !== true,
    hosted: run,
    ignored: [...ignored, ...run.ignored],
    indices,
  }
}

/** Whether the server's own tools are enabled: all that the key may use, or those of a list. */
export function enablesTools({ enable_tools, enabled_tools }: Pick<ToolsWire, 'enable_tools' | 'enabled_tools'>): boolean {
  return enable_tools === true && enabled_tools?.length !== 0
}

/** Whether a type is of a tool that Anthropic's servers run, or is newer than this code. */
function isHosted(type: WireTool['type']): type is string {
  return typeof type === 'string' && type !== 'custom' && clientTool(type, undefined) === undefined
}

/** Undefined for a deferred tool that is not `referenced`. */
function decodeTool(tool: WireTool, path: string, referenced: ReadonlySet<string> | undefined): FunctionTool | undefined {
  const { type, name, description, input_schema: schema, strict } = tool
  const isDeferred = tool.defer_loading === true && referenced !== undefined
  if (isDeferred && !referenced.has(name ?? '')) return undefined
  const deferral = isDeferred && ({ isDeferred: true } as const)
  const known = clientTool(type ?? 'custom', name ?? undefined)
  if (known !== undefined) return { ...known, ...deferral }
  if (typeof name !== 'string') throw invalid(`${path}.name`, `${path}.name is missing: expected a non-empty string`)
  if (!schema) throw invalid(`${path}.input_schema`, `${path}.input_schema is missing: expected a JSON Schema`)
  return {
    name,
    ...(typeof description === 'string' && { description }),
    parameters: schema,
    ...(typeof strict === 'boolean' && { strict }),
    ...deferral,
  }
}

type Choosable = {
  readonly declared: ReadonlySet<string>
  readonly hosted: HostedTools
  /** The server enables other tools, whose names the tool loop knows. */
  readonly hasOthers: boolean
}

function decodeChoice(choice: CountWire['tool_choice'], { declared, hosted, hasOthers }: Choosable): ToolChoice {
  if (choice === undefined || choice === null) return { type: 'auto' }
  switch (choice.type) {
    case 'auto':
    case 'none':
      return { type: choice.type }
    case 'any':
      if (declared.size === 0 && hosted.isEmpty && !hasOthers)
        throw invalid('tool_choice', 'tool_choice "any" needs a tool to call: send tools')
      return { type: 'required' }
    case 'tool': {
      const { name } = choice
      if (typeof name !== 'string') throw invalid('tool_choice.name', 'tool_choice.name is missing: expected the name of a tool')
      const run = declared.has(name) || hasOthers ? [name] : hosted.namesOf(name)
      if (run !== undefined) return { type: 'required', names: run }
      const known = preview([...declared])
      throw invalid('tool_choice.name', `tool_choice.name ${preview(name)} is not declared; the declared tools are ${known}`)
    }
  }
}
