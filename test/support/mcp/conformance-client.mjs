// The client that MCP's conformance suite starts for a scenario, with the address of its server: lists the tools, and calls each, or what
// the scenario names, as the tool loop would. Of what is built.
import { createMcpTools } from '../../../dist/tools/mcp/mcp-tools.js'

const target = { type: 'url', url: process.argv.at(-1), headers: {} }
const { toolCalls } = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}')
const { signal } = new AbortController()
const source = createMcpTools({
  servers: new Map([['it', { target, needsApproval: false }]]),
  allowedHosts: [],
  guard: { allowed: [] },
})

const { tools, absent } = await source.list({ principal: { id: 'k', scopes: new Set() }, names: ['it'], mcpServers: [], signal })
for (const { why } of absent) console.error(`absent: ${why}`)
for (const { name, arguments: args } of toolCalls ?? tools.map(callOf)) {
  const tool = tools.find(({ mcp }) => mcp.name === name)
  const outcome = await tool?.run({ arguments: args, session: { principalId: 'k', id: 's' }, signal })
  console.error(`${name}: ${outcome?.text ?? 'there is no such tool'}`)
}
await source.close()

function callOf({ mcp: { name }, parameters }) {
  // It wants to see what has become of the schema of another.
  if (name === 'json_schema_echo') return { name, arguments: { schema: tools[0].parameters } }
  const args = Object.entries(parameters.properties).map(([key, { type }]) => [key, type === 'string' ? 'text' : 2])
  return { name, arguments: Object.fromEntries(args) }
}
