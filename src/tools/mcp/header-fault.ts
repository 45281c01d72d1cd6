/** The characters of a header's name (RFC 9110). */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const annotation = 'x-mcp-header'
const headerTypes: readonly unknown[] = ['string', 'integer', 'boolean']
/** Keywords whose values are not schemas, and keywords whose members are. */
const data = new Set(['enum', 'const', 'default', 'examples'])
const maps = new Set(['patternProperties', 'dependentSchemas', '$defs', 'definitions'])

/**
 * Why a tool may not be used over HTTP since revision 2026-07-28 of MCP. Arguments that its schema marks with `x-mcp-header` are also sent
 * as headers, which is possible only for simple values whose names are valid in headers. The client of the protocol leaves such tools out
 * as well, but prints the server's text on the console.
 */
export function headerFault(schema: object): string | undefined {
  const names = new Set<string>()
  const visit = (node: unknown, isArgument: boolean): string | undefined => {
    if (typeof node !== 'object' || node === null) return undefined
    if (Array.isArray(node)) return firstOf(node, (item) => visit(item, false))
    const { [annotation]: header, properties, ...others } = node as Record<string, unknown>
    if (header !== undefined) {
      if (!isArgument) return `has ${annotation} on what is not an argument`
      if (typeof header !== 'string' || !token.test(header)) return `has an ${annotation} that is not the name of a header`
      if (!headerTypes.includes(others.type)) return `has ${annotation} on an argument that is not a string, integer or boolean`
      if (names.has(header.toLowerCase())) return `has one ${annotation} twice`
      names.add(header.toLowerCase())
    }
    return (
      firstOf(Object.values(properties ?? {}), (child) => visit(child, isArgument || node === schema)) ??
      firstOf(Object.entries(others), ([keyword, value]) => {
        if (data.has(keyword)) return undefined
        return maps.has(keyword) ? visit(Object.values(value ?? {}), false) : visit(value, false)
      })
    )
  }
  return visit(schema, false)
}

function firstOf<T>(items: readonly T[], faultOf: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const fault = faultOf(item)
    if (fault !== undefined) return fault
  }
  return undefined
}
