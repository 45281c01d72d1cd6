import { isIP } from 'node:net'
import { AppError } from '../contract/errors.ts'

/** Clients name us in a few ways only. An attacker can make up addresses, which are all allowed, but not make us keep many. */
const maxRemembered = 16
const maxRememberedLength = 300

export type HostPolicy = {
  /** This machine's own name. */
  readonly hostname: string
  /** Further names from the configuration; `*` allows every name. */
  readonly allowedHosts: readonly string[]
}

/**
 * Stops DNS rebinding: a page from another site can make a browser call us by a name of its own that resolves to our
 * address, but the browser then sends that name. Throws `host-not-allowed`. A request without any `Host` header cannot
 * come from a browser and passes; an empty one is refused.
 */
export function createHostCheck({ hostname, allowedHosts }: HostPolicy): (host: string | undefined) => void {
  const names = new Set(['localhost', hostname, ...allowedHosts].map(readHostName))
  const allowsAll = allowedHosts.includes('*')
  const remembered = new Set<string>()
  return (host) => {
    if (host === undefined || allowsAll || remembered.has(host)) return
    const name = readHostName(host)
    if (name !== '' && (isIP(name) !== 0 || names.has(name))) {
      if (remembered.size === maxRemembered) remembered.clear()
      if (host.length <= maxRememberedLength) remembered.add(host)
      return
    }
    throw new AppError(
      'host-not-allowed',
      `the host '${name}' is not allowed here; if it is a name of this server, add it to the setting server.allowedHosts`,
    )
  }
}

/** The name in a `Host` header, without port, brackets and final dot, in lower case. */
function readHostName(host: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d*)?$/.exec(host)?.[1]
  if (bracketed !== undefined) return isIP(bracketed) === 6 ? bracketed : ''
  const bare = isIP(host) === 6 ? host : host.replace(/:\d*$/, '')
  return bare.replace(/\.$/, '').toLowerCase()
}
