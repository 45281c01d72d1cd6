import { AppError } from '../../contract/errors.ts'
import type { Tool, ToolChoice } from '../../contract/request.ts'
import { refuseLargeJson } from '../openai/large-json.ts'
import { preview } from '../wire/preview.ts'
import { leftOut, notRunHere } from '../wire/server-tools/hosted-tools.ts'
import { ToolChoiceDecoder } from './decode-tool-choice.ts'
import type { Entry } from './entries.ts'
import { isKnownItem } from './item-schema.ts'
import { ToolNames } from './namespaces.ts'
import type { ResponseWire } from './schema.ts'
import { type Available, HostedTools } from './server-tools/decode-hosted.ts'
import { isKnownTool, isSearchTool, type MemberTool, refusedTools, type WireTool } from './tool-schema.ts'

export type DecodedTools = {
  readonly tools: readonly Tool[]
  /** The path in the request of each tool. */
  readonly paths: readonly string[]
  readonly names: ToolNames
  readonly toolChoice: ToolChoice
  /** The tools that this server runs. */
  readonly hosted: HostedTools
  /** Tools that do not run here and that agents declare by habit, choices of them, and settings without effect. */
  readonly ignored: readonly string[]
}

type ToolsWire = Pick<ResponseWire, 'tools' | 'tool_choice'>

/**
 * Decodes the tools of a request, and those that its conversation declares. Tools found by a search are described where they were found, so
 * that the beginning of the prompt stays unchanged. Throws for a tool that is declared twice, for one that does not run here (unless agents
 * declare it by habit), and for a choice of an undeclared tool.
 */
export function decodeTools(
  { tools: wire, tool_choice }: ToolsWire,
  { entries, available }: { readonly entries: readonly Entry[]; readonly available: Available },
): DecodedTools {
  const declared = new Declared(available)
  for (const [index, tool] of (wire ?? []).entries()) declared.add(tool, `tools[${index}]`)
  for (const { item, path, isOwn } of entries) {
    if (!isKnownItem(item) || (item.type !== 'additional_tools' && item.type !== 'tool_search_output')) continue
    const options = { isLater: true, isFound: item.type === 'tool_search_output', isListed: isOwn }
    for (const [index, tool] of item.tools.entries()) declared.add(tool, `${path}.tools[${index}]`, options)
  }
  const { tools, paths, names, hosted, ignored } = declared
  const isEmpty = tools.length === 0 && hosted.isEmpty
  const other = (wire ?? []).findIndex((tool) => !isKnownTool(tool) && !isSearchTool(tool))
  if (other !== -1 && isEmpty) throw notRunHere(wire?.[other]?.type ?? '', `tools[${other}]`)
  const choice = new ToolChoiceDecoder(names, hosted)
  const toolChoice = choice.decode(tool_choice, isEmpty)
  return { tools, paths, names, hosted, toolChoice, ignored: [...ignored, ...hosted.ignored, ...choice.ignored] }
}

type Options = {
  /** Declared by an item, which returns with each turn: one that is already declared stays as it is. */
  readonly isLater: boolean
  /** Found by a search. */
  readonly isFound: boolean
  /** Whether it is listed if it has no effect. */
  readonly isListed: boolean
}

const plain: Options = { isLater: false, isFound: false, isListed: true }

class Declared {
  readonly tools: Tool[] = []
  readonly paths: string[] = []
  readonly ignored: string[] = []
  readonly names = new ToolNames()
  readonly hosted: HostedTools

  constructor(available: Available) {
    this.hosted = new HostedTools(available)
  }

  add(tool: WireTool, path: string, options = plain): void {
    if (isSearchTool(tool)) {
      const { description, parameters } = tool
      const asFunction = { type: 'function' as const, name: 'tool_search', description, parameters }
      this.#declare(asFunction, path, { ...options, isSearch: true })
    } else if (!isKnownTool(tool)) {
      if (this.hosted.add(tool, path, options)) return
      if (refusedTools.has(tool.type)) throw notRunHere(tool.type, path)
      if (options.isListed) this.ignored.push(leftOut(tool.type, path))
    } else if (tool.type !== 'namespace') this.#declare(tool, path, options)
    else {
      // The description of a namespace precedes that of its first member.
      let about = tool.description ?? ''
      for (const [index, member] of tool.tools.entries()) {
        this.#declare(member, `${path}.tools[${index}]`, { ...options, namespace: tool.name, about })
        about = ''
      }
    }
  }

  #declare(tool: MemberTool, path: string, options: Options & { namespace?: string; about?: string; isSearch?: true }): void {
    const { namespace, about = '', isSearch, isLater, isFound } = options
    const place = { ...(namespace !== undefined && { namespace }), ...(isSearch === true && { isSearch }) }
    const name = this.names.declare({ name: tool.name, ...place })
    if (name === undefined) {
      if (isLater) return
      const param = `${path}.name`
      throw new AppError('invalid-request', `${param} ${preview(tool.name)} is declared twice: names must differ`, { param })
    }
    const description = [about, tool.description ?? ''].filter((text) => text !== '').join('\n\n')
    this.tools.push(decodeTool(tool, { path, isFound, named: { name, ...(description !== '' && { description }) } }))
    this.paths.push(path)
  }
}

type Named = {
  readonly path: string
  readonly isFound: boolean
  readonly named: { readonly name: string; readonly description?: string }
}

function decodeTool(tool: MemberTool, { path, isFound, named }: Named): Tool {
  switch (tool.type) {
    case 'function': {
      const { name, description } = named
      const { parameters, strict } = tool
      refuseLargeJson(parameters, `${path}.parameters`)
      const options = { ...(typeof strict === 'boolean' && { strict }), ...(isFound && ({ isDeferred: true } as const)) }
      return { name, ...(description !== undefined && { description }), ...(parameters && { parameters }), ...options }
    }
    case 'custom': {
      const { format } = tool
      if (format?.type !== 'grammar') return { type: 'custom', ...named }
      return { type: 'custom', grammar: { syntax: format.syntax, definition: format.definition }, ...named }
    }
  }
}
