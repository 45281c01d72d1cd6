import type { FastifyInstance } from 'fastify'
import { encodeTools } from '../../../dialect/own/encode-tools.ts'
import { callerOf } from '../../access/caller.ts'
import { whenClosed } from '../../reply/when-closed.ts'
import type { Generating } from '../../run/deps.ts'

/** The tools that the server runs for the caller. */
export function addToolRoutes(app: FastifyInstance, { tools }: Pick<Generating, 'tools'>): void {
  app.get('/api/tools', { config: { scope: 'tools' } }, async (request, reply) => {
    const principal = callerOf(request)
    const names = tools?.namesFor(principal)
    if (tools === undefined || names === undefined) return { tools: [], absent: [] }
    const left = new AbortController()
    whenClosed(reply.raw, () => left.abort())
    // Without names, it waits only briefly for a slow MCP server, which is then absent and keeps being asked.
    return encodeTools(await tools.list({ principal, mcpServers: [], signal: left.signal }), names)
  })
}
