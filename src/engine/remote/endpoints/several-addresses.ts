import { lookup } from 'node:dns/promises'

type Address = { readonly address: string; readonly family: number }
type Several = { readonly url: string; readonly count: number }
type LookUp = (host: string) => Promise<readonly Address[]>

const askSystem: LookUp = (host) => lookup(host, { all: true })

/**
 * The first URL whose host has several addresses of one family: all its requests would go to one of them. Ignores `https:`, where several
 * addresses usually lead to a load balancer.
 */
export async function findSeveralAddresses(urls: readonly string[], lookUp: LookUp = askSystem): Promise<Several | undefined> {
  const seen = new Set<string>()
  for (const url of urls) {
    const { protocol, hostname } = new URL(url)
    if (protocol !== 'http:' || seen.has(hostname) || /^[\d.]+$|^\[|^localhost$/.test(hostname)) continue
    seen.add(hostname)
    // One by one: it is not urgent, and the system's resolver has few threads.
    const addresses = await lookUp(hostname).catch(() => [])
    const sizeOf = (kind: number) => new Set(addresses.flatMap(({ address, family }) => (family === kind ? [address] : []))).size
    const count = Math.max(sizeOf(4), sizeOf(6))
    if (count > 1) return { url, count }
  }
  return undefined
}

/** The message for people, with the setting that they should use instead. */
export function severalAddresses({ url, count }: Several): string {
  const { hostname, port, pathname } = new URL(url)
  const instead = `{ dns: ${hostname}, port: ${port === '' ? 80 : port}, path: ${pathname} }`
  return `${hostname} has ${count} addresses, and all requests go to one of them; for a replica at each, write ${instead}`
}
