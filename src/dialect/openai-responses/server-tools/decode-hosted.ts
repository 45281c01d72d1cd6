import { AppError } from '../../../contract/errors.ts'
import type { McpServerUse, ToolUse, WebTerms } from '../../../contract/request.ts'
import { preview } from '../../wire/preview.ts'
import { readSites, readUserPlace } from '../../wire/server-tools/web-terms.ts'
import { type HostedTool, type McpTool, webSearchType } from './tool-schema.ts'

/** Names of the server's tools and MCP servers that the caller may use; absent: none. */
export type Available = ReadonlySet<string> | undefined

/** The server tools that a request declares in OpenAI's forms. */
export class HostedTools {
  /** Settings without effect. */
  readonly ignored: string[] = []
  readonly #available: Available
  readonly #names = new Set<string>()
  readonly #servers: McpServerUse[] = []
  readonly #serverPaths: string[] = []
  #container: string | undefined
  #web: WebTerms | undefined

  constructor(available: Available) {
    this.#available = available
  }

  /**
   * Whether the server has this tool. Throws for an unknown MCP server, and for two with one label. MCP servers are declared by the
   * request's own tools, never by an item (`isLater`): items are stored, and must not contain their secrets.
   */
  add(tool: HostedTool, path: string, { isLater }: { readonly isLater: boolean }): boolean {
    if (webSearchType.test(tool.type)) {
      const { filters, user_location: place, ...settings } = tool
      if (!this.#enable('web_search', settings, path)) return false
      const userPlace = readUserPlace(place)
      const pages = readSites(Object(filters), `${path}.filters`)
      this.#web = { pages, ...(userPlace !== undefined && { userPlace }) }
      return true
    }
    if (tool.type === 'code_interpreter') {
      if (!this.#enable('python', {}, path)) return false
      if (typeof tool.container === 'string') this.#container = tool.container
      return true
    }
    return tool.type === 'mcp' && !isLater && this.#addServer(tool as McpTool, path)
  }

  /** The canonical names of a choice; undefined if it is not enabled. */
  namesOf({ type, server_label: label, name }: { type: string; server_label?: unknown; name?: unknown }): string[] | undefined {
    if (type === 'mcp') {
      const server = this.#servers.find((known) => known.label === label)
      if (server === undefined) return undefined
      return [typeof name === 'string' ? `${server.label}__${name}` : server.label]
    }
    const own = webSearchType.test(type) ? 'web_search' : type === 'code_interpreter' ? 'python' : ''
    return this.#names.has(own) ? [own] : undefined
  }

  get isEmpty(): boolean {
    return this.#names.size === 0 && this.#servers.length === 0
  }

  /** The path of a server that the request declares. */
  pathOf(index: number): string | undefined {
    return this.#serverPaths[index]
  }

  /** The folder that the request names. */
  get container(): string | undefined {
    return this.#container
  }

  get use(): Pick<ToolUse, 'names' | 'mcpServers' | 'web'> {
    return {
      names: [...this.#names],
      ...(this.#servers.length > 0 && { mcpServers: this.#servers }),
      ...(this.#web !== undefined && { web: this.#web }),
    }
  }

  #enable(name: string, settings: object, path: string): boolean {
    if (this.#available?.has(name) !== true) return false
    this.#names.add(name)
    for (const [key, value] of Object.entries(settings)) {
      if (key !== 'type' && value !== null && value !== undefined) this.ignored.push(`${path}.${key}`)
    }
    return true
  }

  #addServer(tool: McpTool, path: string): boolean {
    if (this.#available === undefined) return false
    const { server_label: label, server_url: url } = tool
    refuseTerms(tool, path)
    // The tools themselves know whether a server of the caller's is allowed.
    if (typeof url !== 'string' && !this.#available.has(label)) {
      const param = `${path}.server_label`
      const message = `${param} ${preview(label)} is not an MCP server of this server: send one that it has, or its server_url`
      throw new AppError('invalid-request', message, { param })
    }
    if (this.#servers.some((known) => known.label === label)) {
      const param = `${path}.server_label`
      throw new AppError('invalid-request', `${param} ${preview(label)} is declared twice: labels must differ`, { param })
    }
    this.#servers.push({ label, ...(typeof url === 'string' && { url, ...headersOf(tool) }), ...termsOf(tool) })
    this.#serverPaths.push(path)
    return true
  }
}

/** Terms that would reach another server, or offer more than requested. */
function refuseTerms(tool: McpTool, path: string): void {
  const { allowed_tools: allowed } = tool
  // Some clients require an id for a server without an address: its name.
  const isOther = (name: string) => tool[name] !== undefined && tool[name] !== null && tool[name] !== tool.server_label
  const field = ['connector_id', 'tunnel_id'].find(isOther)
  const isReadOnly = !Array.isArray(allowed) && allowed?.read_only === true
  if (field === undefined && !isReadOnly) return
  const param = `${path}.${field ?? 'allowed_tools.read_only'}`
  const instead =
    field === undefined ? 'name the tools in allowed_tools' : 'send the label of a configured server, or a server_url'
  throw new AppError('unsupported-field', `${param} is not supported: ${instead}`, { param })
}

function headersOf({ headers, authorization }: McpTool): Pick<McpServerUse, 'headers'> {
  const all = { ...headers, ...(typeof authorization === 'string' && { authorization: `Bearer ${authorization}` }) }
  return Object.keys(all).length === 0 ? {} : { headers: all }
}

function termsOf({ allowed_tools: allowed, require_approval: approval }: McpTool): Omit<McpServerUse, 'label'> {
  const allowedTools = Array.isArray(allowed) ? allowed : (allowed?.tool_names ?? undefined)
  return { ...(allowedTools !== undefined && { allowedTools }), ...approvalOf(approval) }
}

/** OpenAI's default is to always ask. */
function approvalOf(approval: McpTool['require_approval']): Pick<McpServerUse, 'approval'> {
  if (approval === 'never') return {}
  if (approval === 'always' || approval === undefined || approval === null) return { approval: 'all' }
  const { always, never } = approval
  if (never?.tool_names) return { approval: { allExcept: never.tool_names } }
  return { approval: always?.tool_names ? { tools: always.tool_names } : 'all' }
}
