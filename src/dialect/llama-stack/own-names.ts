/** llama-stack's names for the server's tools, alone and in groups. */
const ownTools: Readonly<Record<string, string>> = {
  brave_search: 'web_search',
  'builtin::websearch': 'web_search',
  code_interpreter: 'python',
  'builtin::code_interpreter': 'python',
}
const mcpPrefix = 'mcp::'

/** This server's name of a tool, or of all tools of an MCP server, by llama-stack's name; any other name as it is. */
export function ownName(given: string): string {
  const own = Object.hasOwn(ownTools, given) ? ownTools[given] : undefined
  return own ?? (given.startsWith(mcpPrefix) ? given.slice(mcpPrefix.length) : given)
}
