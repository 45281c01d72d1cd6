import type { Logger } from 'pino'

const periodMs = 60_000
/** A client with an old key also keeps trying. */
const usualCount = 30
/** Further addresses are counted together. */
const mostAddresses = 1000
const shownAddresses = 3

/** Warns at most once a minute that many requests had wrong keys, and from where: somebody may be guessing keys. */
export function createWrongKeyWatch(log: Pick<Logger, 'warn'>): (address: string) => void {
  let counts = new Map<string, number>()
  const report = () => {
    const all = [...counts].toSorted(([, one], [, other]) => other - one)
    const count = all.reduce((sum, [, some]) => sum + some, 0)
    counts = new Map()
    if (count <= usualCount) return
    const addresses = Object.fromEntries(all.slice(0, shownAddresses))
    log.warn({ count, addresses }, 'many requests of the last minute had wrong keys: somebody may be trying keys')
  }
  return (address) => {
    if (counts.size === 0) setTimeout(report, periodMs).unref()
    const name = counts.has(address) || counts.size < mostAddresses ? address : 'others'
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
}
