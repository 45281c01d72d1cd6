import { lookup } from 'node:dns/promises'

type Address = { readonly address: string; readonly family: number }
type LookUp = (host: string) => Promise<readonly Address[]>

const askSystem: LookUp = (host) => lookup(host, { all: true })

/**
 * The first host of these URLs that has several addresses of one kind: all requests to such a name go to one of them. Only `http:` is looked
 * at: behind https, several addresses are usual, and lead to a load balancer.
 */
export async function findSeveralAddresses(
  urls: readonly string[],
  lookUp: LookUp = askSystem,
): Promise<{ readonly host: string; readonly count: number } | undefined> {
  const names = urls.flatMap((url) => {
    const { protocol, hostname } = new URL(url)
    return protocol === 'http:' && !/^[\d.]+$|^\[|^localhost$/.test(hostname) ? [hostname] : []
  })
  // One after the other: it is not urgent, and the system's resolver has few threads.
  for (const host of new Set(names)) {
    const addresses = await lookUp(host).catch(() => [])
    const count = Math.max(
      ...[4, 6].map((kind) => new Set(addresses.filter(({ family }) => family === kind).map((one) => one.address)).size),
    )
    if (count > 1) return { host, count }
  }
  return undefined
}
