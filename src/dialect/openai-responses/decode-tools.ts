import { AppError } from '../../contract/errors.ts'
import type { Tool, ToolChoice } from '../../contract/request.ts'
import { refuseLargeJson } from '../openai/large-json.ts'
import { preview } from '../wire/preview.ts'
import { type ToolName, ToolNames } from './namespaces.ts'
import type { ResponseWire } from './schema.ts'
import { isKnownChoice, isKnownTool, type MemberTool, type WireTool } from './tool-schema.ts'

export type DecodedTools = {
  readonly tools: readonly Tool[]
  /** The path in the request of each tool. */
  readonly paths: readonly string[]
  readonly names: ToolNames
  readonly toolChoice: ToolChoice
  /** Tools that OpenAI's servers run, and choices of them. */
  readonly ignored: readonly string[]
}

/** Throws for a tool that is declared twice, and for a choice of a tool that is not declared. */
export function decodeTools({ tools: wire, tool_choice }: Pick<ResponseWire, 'tools' | 'tool_choice'>): DecodedTools {
  const declared = new Declared()
  for (const [index, tool] of (wire ?? []).entries()) declared.add(tool, `tools[${index}]`)
  const choice = new Choice(declared.names)
  const toolChoice = choice.decode(tool_choice, declared.tools)
  const { tools, paths, names, ignored } = declared
  return { tools, paths, names, toolChoice, ignored: [...ignored, ...choice.ignored] }
}

class Declared {
  readonly tools: Tool[] = []
  readonly paths: string[] = []
  readonly ignored: string[] = []
  readonly names = new ToolNames()

  add(tool: WireTool, path: string): void {
    if (!isKnownTool(tool)) {
      this.ignored.push(path)
      return
    }
    if (tool.type !== 'namespace') {
      this.#declare(tool, path, {})
      return
    }
    // The model reads about a namespace where its first member is described.
    let about = tool.description ?? ''
    for (const [index, member] of tool.tools.entries()) {
      this.#declare(member, `${path}.tools[${index}]`, { namespace: tool.name, about })
      about = ''
    }
  }

  #declare(tool: MemberTool, path: string, { namespace, about = '' }: { namespace?: string; about?: string }): void {
    const name = this.names.declare({ name: tool.name, ...(namespace !== undefined && { namespace }) })
    if (name === undefined) {
      throw invalid(`${path}.name`, `${path}.name ${preview(tool.name)} is declared twice: names must differ`)
    }
    const description = [about, tool.description ?? ''].filter((text) => text !== '').join('\n\n')
    this.tools.push(decodeTool(tool, { path, named: { name, ...(description !== '' && { description }) } }))
    this.paths.push(path)
  }
}

type Named = { readonly path: string; readonly named: { readonly name: string; readonly description?: string } }

function decodeTool(tool: MemberTool, { path, named }: Named): Tool {
  switch (tool.type) {
    case 'function': {
      const { parameters, strict } = tool
      refuseLargeJson(parameters, `${path}.parameters`)
      return { ...(parameters && { parameters }), ...(typeof strict === 'boolean' && { strict }), ...named }
    }
    case 'custom': {
      const { format } = tool
      if (format?.type !== 'grammar') return { type: 'custom', ...named }
      return { type: 'custom', grammar: { syntax: format.syntax, definition: format.definition }, ...named }
    }
  }
}

type WireChoice = NonNullable<ResponseWire['tool_choice']>

class Choice {
  readonly ignored: string[] = []
  readonly #names: ToolNames

  constructor(names: ToolNames) {
    this.#names = names
  }

  decode(choice: WireChoice | null | undefined, tools: readonly Tool[]): ToolChoice {
    if (choice === undefined || choice === null) return { type: 'auto' }
    if (choice === 'required' && tools.length === 0) {
      throw invalid('tool_choice', 'tool_choice "required" needs a tool to call: send a function in tools')
    }
    if (typeof choice === 'string') return { type: choice }
    if (!isKnownChoice(choice)) {
      const message = `tool_choice ${preview(choice.type)} is a tool that is not run here: choose a function, or send "auto"`
      throw new AppError('unsupported-field', message, { param: 'tool_choice' })
    }
    if (choice.type !== 'allowed_tools') {
      return { type: 'required', names: [this.#require(toolNameOf(choice.name, choice.namespace), 'tool_choice')] }
    }
    const names = choice.tools.flatMap((tool, index) => this.#allowed(tool, `tool_choice.tools[${index}]`))
    if (names.length > 0) return { type: choice.mode, names: [...new Set(names)] }
    if (choice.mode === 'auto') return { type: 'none' }
    throw invalid('tool_choice', 'tool_choice requires a call of a tool that is not run here: allow a function')
  }

  #allowed({ type, name, namespace }: { type: string; name?: unknown; namespace?: unknown }, path: string): readonly string[] {
    if ((type !== 'function' && type !== 'custom' && type !== 'namespace') || typeof name !== 'string') {
      this.ignored.push(path)
      return []
    }
    if (type !== 'namespace') return [this.#require(toolNameOf(name, namespace), 'tool_choice')]
    const members = this.#names.membersOf(name)
    if (members.length > 0) return members
    throw invalid('tool_choice', `${path}.name ${preview(name)} is a namespace that is not declared: declare it in tools`)
  }

  #require(tool: ToolName, param: string): string {
    const flat = this.#names.find(tool)
    if (flat !== undefined) return flat
    throw invalid(param, `${param} names ${preview(tool.name)}, which is not declared: declare it in tools`)
  }
}

/** Other types of `namespace` than text are the same as none. */
export function toolNameOf(name: string, namespace: unknown): ToolName {
  return typeof namespace === 'string' && namespace !== '' ? { name, namespace } : { name }
}

function invalid(param: string, message: string): AppError {
  return new AppError('invalid-request', message, { param })
}
