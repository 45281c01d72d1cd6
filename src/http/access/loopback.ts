import { BlockList, isIPv6 } from 'node:net'

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/** Whether a host, a name or an address without brackets, can be reached only from this machine. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || loopback.check(host, isIPv6(host) ? 'ipv6' : 'ipv4')
}
