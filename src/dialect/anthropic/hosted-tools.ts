import { AppError } from '../../contract/errors.ts'
import type { McpServerUse, ToolUse, WebTerms } from '../../contract/request.ts'
import { preview } from '../wire/preview.ts'
import { readMcpServers } from '../wire/server-tools/mcp-servers.ts'
import { readSites, readUserPlace } from '../wire/server-tools/web-terms.ts'
import type { CountWire, WireTool } from './schema.ts'

/** Names of the server's tools and MCP servers that the caller may use; absent: none. */
export type Available = ReadonlySet<string> | undefined

/** The tools here behind Anthropic's names. The search tool also fetches pages. */
const ownTools: readonly { readonly type: RegExp; readonly name: string; readonly tools: readonly string[] }[] = [
  { type: /^web_search_\d+$/, name: 'web_search', tools: ['web_search'] },
  { type: /^web_fetch_\d+$/, name: 'web_fetch', tools: ['web_search'] },
  // The first version only ran Python.
  { type: /^code_execution_20250522$/, name: 'code_execution', tools: ['python'] },
  { type: /^code_execution_\d+$/, name: 'code_execution', tools: ['python', 'terminal'] },
]
/** The fields that the protocol requires of a tool, and those that have no meaning here. */
const silent = new Set(['type', 'name', 'cache_control', 'allowed_callers', 'defer_loading', 'strict', 'max_uses'])
const ofTheWeb = new Set(['allowed_domains', 'blocked_domains', 'user_location'])

/** The server tools that a request declares in Anthropic's forms. */
export class HostedTools {
  /** Settings without effect. */
  readonly ignored: string[] = []
  readonly #available: Available
  readonly #names = new Set<string>()
  /** By Anthropic's names. */
  readonly #chosen = new Map<string, readonly string[]>()
  readonly #maxCalls: Record<string, number> = {}
  #web: WebTerms | undefined
  readonly #servers: McpServerUse[] = []
  readonly #paths: string[] = []

  constructor(available: Available) {
    this.#available = available
  }

  /** Throws if the server has no tools for this caller. */
  addServers(servers: CountWire['mcp_servers']): void {
    if (this.#available === undefined && (servers ?? []).length > 0) throw noServers('mcp_servers[0]')
    for (const { use, path } of readMcpServers(servers)) this.#addServer(use, path)
  }

  /** Whether the server has this tool. Throws if it does, but cannot honour its settings. */
  add(tool: WireTool, path: string): boolean {
    const { type } = tool
    if (type === 'mcp_toolset') return this.#addToolset(tool, path)
    const own = ownTools.find((known) => known.type.test(type ?? ''))
    const tools = own?.tools.filter((name) => this.#available?.has(name)) ?? []
    if (own === undefined || tools.length === 0) return false
    for (const name of tools) this.#names.add(name)
    this.#chosen.set(own.name, tools)
    // One tool searches and fetches, so their limits add up.
    const { max_uses: uses } = tool
    for (const name of tools) if (typeof uses === 'number') this.#maxCalls[name] = (this.#maxCalls[name] ?? 0) + uses
    const isOfTheWeb = own.tools.includes('web_search')
    if (isOfTheWeb) this.#addWebTerms(tool, own.name === 'web_search' ? 'searches' : 'pages', path)
    for (const [key, value] of Object.entries(tool)) {
      if (isOfTheWeb && ofTheWeb.has(key)) continue
      if (!silent.has(key) && value !== null && value !== undefined) this.ignored.push(`${path}.${key}`)
    }
    return true
  }

  get isEmpty(): boolean {
    return this.#names.size === 0 && this.#servers.length === 0
  }

  /** The canonical names of a chosen tool. */
  namesOf(name: string): readonly string[] | undefined {
    return this.#chosen.get(name)
  }

  /** The path of a server that the request declares. */
  pathOf(index: number): string | undefined {
    return this.#paths[index]
  }

  get use(): Pick<ToolUse, 'names' | 'mcpServers' | 'maxCalls' | 'web'> {
    return {
      names: [...this.#names],
      ...(this.#servers.length > 0 && { mcpServers: this.#servers }),
      ...(Object.keys(this.#maxCalls).length > 0 && { maxCalls: this.#maxCalls }),
      ...(this.#web !== undefined && { web: this.#web }),
    }
  }

  #addWebTerms(tool: WireTool, what: 'searches' | 'pages', path: string): void {
    const userPlace = readUserPlace(tool.user_location)
    this.#web = { ...this.#web, [what]: readSites(tool, path), ...(userPlace !== undefined && { userPlace }) }
  }

  #addServer(server: McpServerUse, path: string): void {
    const { label, url } = server
    const param = `${path}.name`
    if (url === undefined && this.#available?.has(label) !== true) {
      const message = `${param} ${preview(label)} is not an MCP server of this server: send one that it has, or its url`
      throw new AppError('invalid-request', message, { param })
    }
    this.#servers.push(server)
    this.#paths.push(path)
  }

  /** The tools of a server that the request declares, or of a configured one. */
  #addToolset(tool: WireTool, path: string): boolean {
    if (this.#available === undefined) return false
    const { mcp_server_name: label } = tool
    if (typeof label !== 'string') {
      const param = `${path}.mcp_server_name`
      throw new AppError('invalid-request', `${param} is missing: expected the name of an MCP server`, { param })
    }
    const index = this.#servers.findIndex((known) => known.label === label)
    const allowed = allowedIn(tool, path)
    const server = { ...(this.#servers[index] ?? { label }), ...(allowed !== undefined && { allowedTools: allowed }) }
    if (index === -1) this.#addServer(server, path)
    else this.#servers[index] = server
    return true
  }
}

/** The tools that a toolset allows; undefined for all. Throws for one that excludes some, which no server could honour. */
function allowedIn({ default_config: byDefault, configs }: WireTool, path: string): readonly string[] | undefined {
  const entries = Object.entries(configs ?? {})
  if (byDefault?.enabled === false) return entries.flatMap(([name, { enabled }]) => (enabled === true ? [name] : []))
  const [taken] = entries.find(([, { enabled }]) => enabled === false) ?? []
  if (taken === undefined) return undefined
  const param = `${path}.configs`
  const message = `${param}: ${preview(taken)} cannot be taken away: set default_config.enabled to false, and enable the others`
  throw new AppError('unsupported-field', message, { param })
}

function noServers(path: string): AppError {
  const message = `${path}: no MCP servers are used for this caller: leave mcp_servers out`
  return new AppError('unsupported-field', message, { param: 'mcp_servers' })
}
