import type { FastifyInstance } from 'fastify'
import type { ToolListing } from '../../../contract/server-tool.ts'
import { decodeOwnServers, encodeTools } from '../../../dialect/own/tools.ts'
import { callerOf } from '../../access/caller.ts'
import { whenClosed } from '../../reply/when-closed.ts'
import type { Generating, Watching } from '../../run/deps.ts'
import { createCallHandler } from '../../run/serve-call.ts'

const nothing: ToolListing = { tools: [], absent: [] }

/** The tools that the server runs for the caller. */
export function addToolRoutes(app: FastifyInstance, deps: Pick<Generating, 'tools'> & Watching): void {
  const { tools } = deps
  const config = { scope: 'tools' } as const
  app.get('/api/tools', { config }, async (request, reply) => {
    const principal = callerOf(request)
    const names = tools?.namesFor(principal)
    if (tools === undefined || names === undefined) return encodeTools(nothing, new Set())
    const left = new AbortController()
    whenClosed(reply.raw, () => left.abort())
    // Without names, it waits only briefly for a slow MCP server, which is then absent and keeps being asked.
    return encodeTools(await tools.list({ principal, mcpServers: [], signal: left.signal }), names)
  })
  const handler = createCallHandler(deps, (body, { principal }) => {
    const { servers, ignored, nameOf } = decodeOwnServers(body)
    const run = async ({ signal }: { readonly signal: AbortSignal }) => {
      const listing = (await tools?.list({ principal, names: [], mcpServers: servers, signal })) ?? nothing
      await listing.end?.()
      return encodeTools(listing, new Set(servers.map(({ label }) => label)))
    }
    return { ignored, nameOf, run }
  })
  app.post('/api/tools', { config }, handler)
}
