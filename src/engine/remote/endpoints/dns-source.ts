import type { SrvRecord } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { codeOf } from '../../../canonical/failure-reason.ts'
import { hostInUrl } from './host-in-url.ts'
import type { Lookup } from './lookup-rule.ts'
import { polledSource, type SourceOptions } from './polled-source.ts'
import type { EndpointSource, FoundEndpoint } from './source.ts'

export type DnsSourceOptions = SourceOptions & {
  readonly dns: string
  /** The port of each address. Absent if the name has SRV records. */
  readonly port?: number
  readonly path: string
  readonly everyMs: number
  /** They speak HTTPS. */
  readonly https?: boolean
  /** The name in their certificates. Absent: `dns`, or the targets of its SRV records. */
  readonly serverName?: string
  /** Absent: the system's name servers. */
  readonly nameServers?: readonly string[]
}

type Found = Omit<FoundEndpoint, 'url'> & { readonly host: string; readonly port: number }

/** The servers behind a DNS name: all its addresses, or its SRV records with their ports, weights and priorities. */
export function dnsSource(options: DnsSourceOptions): EndpointSource {
  const { dns, port, nameServers, everyMs, warn, random } = options
  const look = async (signal: AbortSignal): Promise<Lookup> => {
    const resolver = new Resolver({ timeout: 2000, tries: 2 })
    if (nameServers !== undefined) resolver.setServers(nameServers)
    const cancel = () => resolver.cancel()
    signal.addEventListener('abort', cancel, { once: true })
    try {
      const found =
        port === undefined
          ? await lookUpServices(resolver, dns, nameServers !== undefined)
          : (await lookUpAddresses(resolver, dns)).map((host) => ({ host, port, weight: 1, serverName: dns }))
      if (found.length === 0) return { type: 'empty', reason: 'the name has no records' }
      return { type: 'found', endpoints: found.map((one) => endpointOf(one, options)).toSorted(byUrl) }
    } catch (error) {
      const code = codeOf(error)
      // NXDOMAIN, or a name without records of this type.
      if (code === 'ENOTFOUND' || code === 'ENODATA')
        return { type: 'empty', reason: 'there is no such name, or it has no records' }
      return { type: 'failed', reason: `the name could not be looked up (${code})` }
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }
  return polledSource({ name: `dns: ${dns}`, everyMs, look, warn, ...(random !== undefined && { random }) })
}

/** The addresses of a name. IPv6 addresses count only if there are no IPv4 addresses, so that a server with both is not used twice. */
async function lookUpAddresses(resolver: Resolver, name: string): Promise<readonly string[]> {
  try {
    return await resolver.resolve4(name)
  } catch (error) {
    if (codeOf(error) !== 'ENODATA' && codeOf(error) !== 'ENOTFOUND') throw error
    return await resolver.resolve6(name)
  }
}

/** Resolves the targets itself if other name servers than the system's are configured: the system's may not know the targets. */
async function lookUpServices(resolver: Resolver, name: string, looksUpTargets: boolean): Promise<readonly Found[]> {
  const records = await resolver.resolveSrv(name)
  // A single record with the target `.` means that there is no such service.
  const usable = records.filter(({ name: target }) => target !== '' && target !== '.')
  if (!looksUpTargets) return weighServices(usable)
  const hosts = await Promise.all(usable.map(({ name: target }) => lookUpTarget(resolver, target)))
  return weighServices(usable.flatMap((record, index) => (hosts[index] ?? []).map((host) => ({ ...record, host }))))
}

async function lookUpTarget(resolver: Resolver, target: string): Promise<readonly string[]> {
  try {
    return await lookUpAddresses(resolver, target)
  } catch (error) {
    // The target disappeared between the two queries.
    if (codeOf(error) === 'ENOTFOUND' || codeOf(error) === 'ENODATA') return []
    throw error
  }
}

/**
 * Scales the weights to a mean of 1: name servers give percentages, which change with the number of servers. Targets with a higher priority
 * number than the lowest are spares.
 */
export function weighServices(records: readonly (SrvRecord & { readonly host?: string })[]): readonly Found[] {
  const first = Math.min(...records.map(({ priority }) => priority))
  return records.map(({ name, host = name, port, weight, priority }) => {
    const equals = records.filter((other) => other.priority === priority)
    const mean = equals.reduce((sum, other) => sum + other.weight, 0) / equals.length
    // Weight 0 means "hardly ever" beside other weights, and an equal share if all are 0.
    const share = mean === 0 ? 1 : Math.max(0.01, Math.round((weight / mean) * 100) / 100)
    return {
      host,
      port,
      weight: share,
      ...(host !== name && { serverName: name }),
      ...(priority > first && { isSpare: true as const }),
    }
  })
}

function endpointOf(
  { host, port, serverName: found, ...rest }: Found,
  { path, https = false, serverName = found }: DnsSourceOptions,
): FoundEndpoint {
  const url = `${https ? 'https' : 'http'}://${hostInUrl(host)}:${port}${path}`
  return { url, ...(https && serverName !== undefined && { serverName }), ...rest }
}

function byUrl(one: FoundEndpoint, other: FoundEndpoint): number {
  return one.url < other.url ? -1 : 1
}
