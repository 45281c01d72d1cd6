import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { AppError } from '../../contract/errors.ts'

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
      `the host '${name}' is not allowed while no API key is required; if it is a name of this server, add it to the setting server.allowedHosts`,
    )
  }
}

/** Throws `invalid-request` without a host in HTTP/1.1, and for more than one: a proxy may have checked a different one than we would. */
export function refuseHosts({ rawHeaders, httpVersion }: Pick<IncomingMessage, 'rawHeaders' | 'httpVersion'>): void {
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  if (hosts === 1 || (hosts === 0 && httpVersion !== '1.1')) return
  const problem = hosts === 0 ? "has no 'host' header, which HTTP/1.1 requires" : `has ${hosts} 'host' headers: send one`
  throw new AppError('invalid-request', `the request ${problem}`)
}

/** The hosts that a request names: in its header, and in its target. */
export function readHosts({ headers, originalUrl }: Pick<FastifyRequest, 'headers' | 'originalUrl'>) {
  return [headers.host, readTargetHost(originalUrl)]
}

/** The host in a request target that is a whole URL, which HTTP prefers to the header's; otherwise undefined. */
function readTargetHost(target: string): string | undefined {
  return target.startsWith('/') ? undefined : /^[a-z][a-z\d+.-]*:\/\/([^/?#]*)/i.exec(target)?.[1]
}

/** The name in a `Host` header, without port, brackets and final dot, in lower case. */
export function readHostName(host: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d*)?$/.exec(host)?.[1]
  if (bracketed !== undefined) return isIP(bracketed) === 6 ? bracketed : ''
  const bare = isIP(host) === 6 ? host : host.replace(/:\d*$/, '')
  return bare.replace(/\.$/, '').toLowerCase()
}
