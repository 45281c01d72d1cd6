import { createHash } from 'node:crypto'

/** The longest name that all model APIs accept. */
const maxLength = 64

/**
 * The models' names for the tools of a server, in their order: `SERVER__TOOL`, of letters, digits, `_` and `-`. A name that is too long, or
 * no longer unique after other characters became `_`, ends with a part of its hash, so that it does not depend on the server's other tools.
 */
export function modelNames(server: string, tools: readonly string[]): ReadonlyMap<string, string> {
  const plain = tools.map((tool) => `${server}__${tool.replace(/[^A-Za-z0-9_-]/g, '_')}`)
  const counts = new Map<string, number>()
  for (const name of plain) counts.set(name, (counts.get(name) ?? 0) + 1)
  return new Map(
    tools.map((tool, index) => {
      const name = plain[index] ?? ''
      const isExact = name === `${server}__${tool}`
      const isGood = name.length <= maxLength && (isExact || counts.get(name) === 1)
      return [tool, isGood ? name : `${name.slice(0, maxLength - 9)}_${hashOf(tool)}`] as const
    }),
  )
}

function hashOf(tool: string): string {
  return createHash('sha256').update(tool).digest('hex').slice(0, 8)
}
