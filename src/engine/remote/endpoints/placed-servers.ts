import { hostInUrl } from './host-in-url.ts'
import type { FoundEndpoint } from './source.ts'

/** How servers at found addresses are reached. */
export type Reach = {
  /** The path below the port. */
  readonly path: string
  /** All of them speak HTTPS. */
  readonly https?: boolean
  /** The name in their certificates. Absent: their addresses. */
  readonly serverName?: string
  /** The zone of this process. Absent: no server is nearer than another. */
  readonly zone?: string
}

export type PlacedServer = {
  readonly scheme: 'http' | 'https'
  readonly host: string
  readonly port: number
  readonly zone?: string
  /** The zones that are to use it. */
  readonly forZones?: readonly string[]
}

/** The servers by URL, each once. Those that are in other zones are far, if there are others. */
export function serversOf(placed: readonly PlacedServer[], { path, https, serverName, zone }: Reach): readonly FoundEndpoint[] {
  const near = nearOnes(placed, zone)
  const byUrl = new Map<string, FoundEndpoint>()
  for (const server of placed) {
    const scheme = https === true ? 'https' : server.scheme
    const url = `${scheme}://${hostInUrl(server.host)}:${server.port}${path}`
    if (byUrl.has(url)) continue
    byUrl.set(url, {
      url,
      weight: 1,
      ...(scheme === 'https' && serverName !== undefined && { serverName }),
      ...(near.size > 0 && !near.has(server) && { isFar: true as const }),
    })
  }
  return [...byUrl.values()].toSorted((one, other) => (one.url < other.url ? -1 : 1))
}

/** As kube-proxy does, follows the hints if all servers have some: Kubernetes then knows how many each zone needs. */
function nearOnes(placed: readonly PlacedServer[], own: string | undefined): ReadonlySet<PlacedServer> {
  if (own === undefined) return new Set()
  const isHinted = placed.every(({ forZones = [] }) => forZones.length > 0)
  return new Set(placed.filter(({ zone, forZones = [] }) => (isHinted ? forZones.includes(own) : zone === own)))
}
