import { asArray, asObject, asText, type Loose } from '../transport/loose-json.ts'
import { type PlacedServer, type Reach, serversOf } from './placed-servers.ts'
import type { FoundEndpoint } from './source.ts'

/** Selects a port of a Service. */
export type ServicePort = Reach & {
  /** Its name or number. Absent if the Service has only one port. */
  readonly port: string | number | undefined
}

/**
 * The servers of a Service that accept requests: those that are ready and not terminating. Throws an error for people if the port is
 * ambiguous. Slices of one Service may overlap while endpoints move between them.
 */
export function endpointsOfSlices(slices: readonly Loose[], { port, ...reach }: ServicePort): readonly FoundEndpoint[] {
  // A pod with IPv4 and IPv6 addresses is in a slice of each.
  const ipv4 = slices.filter(({ addressType }) => addressType === 'IPv4')
  const usable = ipv4.some((slice) => asArray(slice.endpoints).length > 0) ? ipv4 : slices
  const placed = usable.flatMap((slice): readonly PlacedServer[] => {
    const endpoints = asArray(slice.endpoints).flatMap((endpoint) => readyEndpoint(asObject(endpoint)))
    if (endpoints.length === 0) return []
    const { number, scheme } = portOf(slice, port)
    return endpoints.map((endpoint) => ({ ...endpoint, scheme, port: number }))
  })
  return serversOf(placed, reach)
}

function readyEndpoint(endpoint: Loose | undefined): readonly Pick<PlacedServer, 'host' | 'zone' | 'forZones'>[] {
  const conditions = asObject(endpoint?.conditions)
  // Absent means ready. With `publishNotReadyAddresses`, terminating pods are reported as ready too.
  if (conditions?.ready === false || conditions?.terminating === true) return []
  // The addresses of one endpoint are interchangeable.
  const host = asText(asArray(endpoint?.addresses)[0])
  if (host === undefined) return []
  const zone = asText(endpoint?.zone)
  const forZones = asArray(asObject(endpoint?.hints)?.forZones).flatMap((hint) => asText(asObject(hint)?.name) ?? [])
  return [{ host, forZones, ...(zone !== undefined && { zone }) }]
}
/** A port by its number need not be one of the slice. */
function portOf(
  slice: Loose,
  wanted: string | number | undefined,
): { readonly number: number; readonly scheme: 'http' | 'https' } {
  const ports = asArray(slice.ports).map(asObject)
  const found = wanted === undefined ? ports : ports.filter((port) => port?.name === wanted || port?.port === wanted)
  const [only] = found
  const scheme = only?.appProtocol === 'https' ? 'https' : 'http'
  if (typeof wanted === 'number') return { number: wanted, scheme }
  if (found.length === 1 && typeof only?.port === 'number') return { number: only.port, scheme }
  const names = ports.map((port) => asText(port?.name) || port?.port).join(', ')
  const has = ports.length === 0 ? 'it has none' : `it has: ${names}`
  throw new Error(
    `${wanted === undefined ? 'the Service has several ports' : `the Service has no port '${wanted}'`}; ${has}. Set \`port\``,
  )
}
