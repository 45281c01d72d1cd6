import { AppError, messageOf } from '../../contract/errors.ts'
import { type CanonicalPath, field } from '../../contract/field.ts'
import type { Principal } from '../../contract/principal.ts'
import type { McpServerUse } from '../../contract/request.ts'
import type { AbsentTool, ServerTool, ToolListing, ToolSource, ToolWish } from '../../contract/server-tool.ts'
import { ForbiddenAddress, type Guard } from '../../media/guarded-connect.ts'
import { checkUrl, FetchProblem } from '../../media/guarded-fetch.ts'
import type { McpTarget } from './connection.ts'
import { describeTools } from './describe-tools.ts'
import { limitLines } from './line-limit.ts'
import { McpServer, type McpServerOptions } from './mcp-server.ts'

export type ConfiguredServer = {
  readonly target: McpTarget
  /** Names on the server; absent: all tools. */
  readonly allowedTools?: readonly string[] | undefined
  readonly needsApproval: boolean
  /** Why the server cannot be used. */
  readonly missing?: string | undefined
}

export type McpToolsOptions = {
  readonly servers: ReadonlyMap<string, ConfiguredServer>
  /** Hosts, including subdomains, where requests may name servers of their own. */
  readonly allowedHosts: readonly string[]
  /** Restricts connections to servers that requests name. */
  readonly guard: Guard
  readonly limits?: McpServerOptions['limits']
  /** Receives the lines that programs write to their standard error. */
  onLine?: ((server: string, line: string) => void) | undefined
  /** A configured server misbehaves; reported at most once a minute while it keeps failing. */
  onFailure?(server: string, why: string): void
}

const labelPattern = /^(?!.*__)[A-Za-z0-9_-]{1,32}$/
const maxRequestServers = 8

/** The tools of MCP servers: those of the configuration, and those that a request names. */
export function createMcpTools({ servers, allowedHosts, guard, limits, onLine, onFailure }: McpToolsOptions): ToolSource {
  const now = () => performance.now()
  const configured = new Map<string, Labelled>()
  for (const [label, { target, allowedTools, needsApproval, missing }] of servers) {
    const server = new McpServer({
      target,
      now,
      limits,
      onLine: onLine && limitLines((line) => onLine(label, line), now),
      onFailure: (why) => onFailure?.(label, why),
    })
    configured.set(label, { label, server, allowedTools, needsApproval, missing })
  }
  const ofRequests = new Set<McpServer>()

  async function list({ principal, names, mcpServers, signal }: ToolWish): Promise<ToolListing> {
    const named = mcpServers.flatMap((use, index) =>
      use.url === undefined ? [] : [{ ...checked(use, index, principal), index }],
    )
    const own = named.map(({ label, url, headers = {}, index }): Labelled => {
      const server = new McpServer({ target: { type: 'url', url, headers, guard }, now, limits })
      ofRequests.add(server)
      return { label, server, allowedTools: undefined, needsApproval: false, missing: undefined, index }
    })
    const end = async () => {
      for (const { server } of own) ofRequests.delete(server)
      await Promise.all(own.map(({ server }) => server.close()))
    }
    if (own.length > 0) signal.addEventListener('abort', () => void end(), { once: true })
    const isNamed = ({ label }: Labelled) =>
      mcpServers.some((use) => use.label === label) ||
      names?.some((name) => name === label || name.startsWith(`${label}__`)) === true
    const asked = [...configured.values()].flatMap((server) => {
      const needs = isNamed(server)
      return needs || names === undefined ? [listOne(server, { signal, needs })] : []
    })
    const ofRequest = own.map((server) => listOne(server, { signal, needs: true }))
    const listings = await Promise.all([...asked, ...ofRequest]).catch(async (error: unknown) => {
      await end()
      throw error
    })
    const others =
      names === undefined ? [] : [...configured.values()].flatMap((server) => (isNamed(server) ? [] : [server.label]))
    return {
      tools: listings.flatMap(({ tools }) => tools),
      absent: listings.flatMap(({ absent }) => absent),
      others,
      hostsForRequests: principal.tools === undefined ? allowedHosts : [],
      ...(own.length > 0 && { end }),
    }
  }

  /** Refuses what the configuration does not allow. */
  function checked(use: McpServerUse, index: number, { tools }: Principal): McpServerUse & { readonly url: string } {
    const { label, url = '' } = use
    const at = (...path: string[]) => placeOf(index, ...path)
    if (allowedHosts.length === 0) {
      throw refuse(
        at('url'),
        'is an address, and this server uses only MCP servers of its configuration (tools.allowRequestServers)',
      )
    }
    if (tools !== undefined) {
      throw refuse(
        at('url'),
        'is an address, and the API key may only use tools by their names (`tools` of the key in server.apiKeys)',
      )
    }
    if (index >= maxRequestServers) throw refuse(at(), `is one server too many: ${maxRequestServers} at most`)
    if (!labelPattern.test(label)) {
      throw refuse(at('label'), `is '${label.slice(0, 80)}': use at most 32 letters, digits, '_' and '-', without '__'`)
    }
    if (configured.has(label)) throw refuse(at('label'), `is '${label}', the name of a server of the configuration: use another`)
    try {
      checkUrl(url, { domains: allowedHosts })
    } catch (error) {
      if (!(error instanceof FetchProblem)) throw error
      throw refuse(at('url'), `${error.message}${error.reason === 'host' ? ' (tools.allowRequestServers)' : ''}`)
    }
    return { ...use, url }
  }

  return {
    list,
    async close() {
      const all = [...[...configured.values()].map(({ server }) => server), ...ofRequests]
      await Promise.all(all.map((server) => server.close()))
    },
  }
}

type Labelled = {
  readonly label: string
  readonly server: McpServer
  readonly allowedTools: readonly string[] | undefined
  readonly needsApproval: boolean
  readonly missing: string | undefined
  /** The position in the request, for a server that the request names. */
  readonly index?: number
}

const placeOf = (index: number, ...path: string[]): CanonicalPath => ['toolUse', 'mcpServers', index, ...path]

function refuse(path: CanonicalPath, problem: string): AppError {
  return new AppError('invalid-request', `${field(...path)} ${problem}`, { at: path })
}

/** `needs`: the request names the server, and waits for it. */
async function listOne(
  { label, server, allowedTools, needsApproval, missing, index }: Labelled,
  { signal, needs }: { readonly signal: AbortSignal; readonly needs: boolean },
): Promise<ToolListing> {
  const without = (why: string): AbsentTool => ({ name: label, why })
  if (missing !== undefined) return { tools: [], absent: [without(missing)] }
  try {
    const described = describeTools(label, await server.tools(signal, needs), allowedTools)
    const tools = described.tools.map(
      ({ name, ownName, description, parameters }): ServerTool => ({
        name,
        kind: 'mcp',
        mcp: { server: label, name: ownName },
        description,
        parameters,
        ...(needsApproval && { needsApproval }),
        run: ({ arguments: args, signal: ofCall }) => server.call(ownName, args, ofCall),
      }),
    )
    return { tools, absent: described.left.map(without) }
  } catch (error) {
    signal.throwIfAborted()
    const fault = addressFault(error)
    if (index !== undefined && fault !== undefined) throw refuse(placeOf(index, 'url'), fault)
    return { tools: [], absent: [without(`the MCP server cannot be used: ${messageOf(error)}`)] }
  }
}

/** The fault in the address itself, to be fixed by its author. */
function addressFault(error: unknown): string | undefined {
  if (error instanceof ForbiddenAddress) return 'is not at a public address, or has none (media.allowedAddresses)'
  if (!(error instanceof Error)) return undefined
  return error.message === 'bad port' ? 'has a port that is not asked over HTTP' : addressFault(error.cause)
}
