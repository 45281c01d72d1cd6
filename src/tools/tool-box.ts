import type { Principal } from '../contract/principal.ts'
import type { AbsentTool, ServerTool, ToolBox, ToolListing, ToolSource, ToolWish } from '../contract/server-tool.ts'

const scopeMissing = "the API key lacks the scope 'tools'; send a key that has it in server.apiKeys"
const notForKey = 'the API key may not use it; the names in `tools` of the key in server.apiKeys say which it may'

/** The tools of all sources together. Of two with one name, the first counts. */
export class SourceToolBox implements ToolBox {
  readonly #sources: readonly ToolSource[]

  constructor(sources: readonly ToolSource[]) {
    this.#sources = sources
  }

  async list(wish: ToolWish): Promise<ToolListing> {
    const listings = await Promise.all(this.#sources.map((source) => source.list(wish)))
    const all = [...new Map(listings.flatMap(({ tools }) => tools.map((tool) => [tool.name, tool] as const)).reverse()).values()]
    const absent: AbsentTool[] = listings.flatMap((listing) => listing.absent)
    const tools: ServerTool[] = []
    for (const tool of all.reverse()) {
      const why = refusalFor(wish.principal, tool)
      if (why === undefined) tools.push(tool)
      else absent.push({ name: tool.name, why })
    }
    return { tools, absent }
  }

  async close(): Promise<void> {
    await Promise.all(this.#sources.map((source) => source.close()))
  }
}

/** Why a caller may not use a tool; undefined where it may. */
function refusalFor({ scopes, tools }: Principal, { name, mcp }: ServerTool): string | undefined {
  if (!scopes.has('tools') && !scopes.has('admin')) return scopeMissing
  const mayUse = tools === undefined || tools.includes(name) || (mcp !== undefined && tools.includes(mcp.server))
  return mayUse ? undefined : notForKey
}
