import { isIP } from 'node:net'
import { AppError } from '../contract/errors.ts'

/** Real clients use few names. The limit bounds memory, since IP addresses are all allowed and can be made up. */
const maxRemembered = 16
const maxRememberedLength = 300

export type HostPolicy = {
  /** This machine's name. */
  readonly hostname: string
  /** Additional names from the configuration; `*` allows all. */
  readonly allowedHosts: readonly string[]
}

/**
 * Prevents DNS rebinding, in which a foreign page's host name resolves to our address: browsers send that name. Throws
 * `host-not-allowed`. A request without a `Host` header cannot come from a browser and passes; an empty one is refused.
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
      `the host '${name}' is not allowed; if it is a name of this server, add it to the setting server.allowedHosts`,
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
