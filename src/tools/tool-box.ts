import type { Principal } from '../contract/principal.ts'
import type { AbsentTool, ServerTool, ToolBox, ToolListing, ToolSource, ToolWish } from '../contract/server-tool.ts'

const scopeMissing = "the API key lacks the scope 'tools'; send a key that has it in server.apiKeys"
const notForKey = 'the API key may not use it; the names in `tools` of the key in server.apiKeys say which it may'

/** The tools of all sources together. The first of two with one name wins. */
export class SourceToolBox implements ToolBox {
  readonly #sources: readonly ToolSource[]
  readonly #names: readonly string[] | undefined

  /** `names`: the tools that the configuration turns on; absent: none. */
  constructor(sources: readonly ToolSource[], names?: readonly string[]) {
    this.#sources = sources
    this.#names = names
  }

  namesFor(principal: Principal): ReadonlySet<string> | undefined {
    if (this.#names === undefined || !mayUseTools(principal)) return undefined
    // A key may be allowed only some of a server's tools.
    const mayUse = (name: string) => principal.tools?.some((own) => own === name || own.startsWith(`${name}__`)) !== false
    return new Set(this.#names.filter(mayUse))
  }

  async list(wish: ToolWish): Promise<ToolListing> {
    const listings = await this.#ask(wish)
    const all = [...new Map(listings.flatMap(({ tools }) => tools.map((tool) => [tool.name, tool] as const)).reverse()).values()]
    const absent: AbsentTool[] = listings.flatMap((listing) => listing.absent)
    const tools: ServerTool[] = []
    for (const tool of all.reverse()) {
      const why = refusalFor(wish.principal, tool)
      if (why === undefined) tools.push(tool)
      else absent.push({ name: tool.name, why })
    }
    const others = listings.flatMap((listing) => listing.others ?? [])
    const hostsForRequests = listings.flatMap((listing) => listing.hostsForRequests ?? [])
    const end = async () => void (await Promise.all(listings.map((listing) => listing.end?.())))
    return { tools, absent, others, hostsForRequests, end }
  }

  /** If one source refuses the wish, what the others began for it is ended. */
  async #ask(wish: ToolWish): Promise<readonly ToolListing[]> {
    const asked = await Promise.allSettled(this.#sources.map(async (source) => source.list(wish)))
    const listings = asked.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    const refused = asked.find((result) => result.status === 'rejected')
    if (refused === undefined) return listings
    await Promise.all(listings.map((listing) => listing.end?.()))
    throw refused.reason
  }

  async close(): Promise<void> {
    await Promise.all(this.#sources.map((source) => source.close()))
  }
}

/** Why a caller may not use a tool; undefined where it may. */
function refusalFor(principal: Principal, { name, mcp }: ServerTool): string | undefined {
  if (!mayUseTools(principal)) return scopeMissing
  const { tools } = principal
  const mayUse = tools === undefined || tools.includes(name) || (mcp !== undefined && tools.includes(mcp.server))
  return mayUse ? undefined : notForKey
}

function mayUseTools({ scopes }: Principal): boolean {
  return scopes.has('tools') || scopes.has('admin')
}
