import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Block = readonly [Address, number]

/** An address and a length, such as 10.0.0.0/8, or an address alone. Undefined for other texts. */
export function parseBlock(text: string): Block | undefined {
  const [host = '', length, ...rest] = text.split('/')
  if (isIP(host) === 0 || host.includes('%') || rest.length > 0) return undefined
  const address = ipaddr.process(host)
  const bits = address.kind() === 'ipv4' ? 32 : 128
  const size = length === undefined ? bits : /^\d{1,3}$/.test(length) ? Number(length) : Number.NaN
  return size <= bits ? [address, size] : undefined
}

/**
 * Addresses that ipaddr.js calls public: documentation (RFC 9637), and the address at which each machine in Azure finds its host's
 * services.
 */
const closedBlocks: readonly Block[] = ['3fff::/20', '168.63.129.16'].map((text) => parseBlock(text) as Block)

/**
 * Whether requests of callers may lead to an address: one of the Internet that is not this machine's own, or one of `allowed`. IPv6
 * addresses that embed an IPv4 address (NAT64, 6to4, Teredo and others) lead anywhere, so they are refused; a mapped one (`::ffff:1.2.3.4`)
 * counts as its IPv4 address.
 */
export function isAllowedAddress(text: string, allowed: readonly Block[]): boolean {
  if (isIP(text) === 0 || text.includes('%')) return false
  const address = ipaddr.process(text)
  if (allowed.some((block) => contains(block, address))) return true
  if (address.range() !== 'unicast' || closedBlocks.some((block) => contains(block, address))) return false
  // All other IPv6 addresses are reserved, local, or a translation.
  if (address.kind() === 'ipv6' && !contains(globalUnicast, address)) return false
  return !ownAddresses().has(address.toNormalizedString())
}

const globalUnicast = parseBlock('2000::/3') as Block

function contains([block, length]: Block, address: Address): boolean {
  return block.kind() === address.kind() && address.match(block, length)
}

/** A service on a public address of this machine may trust this machine. */
function ownAddresses(): ReadonlySet<string> {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  return new Set(all.map(({ address }) => ipaddr.process(address).toNormalizedString()))
}
