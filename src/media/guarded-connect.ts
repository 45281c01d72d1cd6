import { lookup } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { buildConnector } from 'undici'
import { isAllowedAddress, type parseBlock } from './address.ts'

/** All addresses of a host, from the resolver of the system. */
type Resolve = (hostname: string) => Promise<readonly string[]>

/** An address that must not be connected to. */
export class ForbiddenAddress extends Error {}

export type Guard = {
  readonly allowed: readonly NonNullable<ReturnType<typeof parseBlock>>[]
  readonly resolve?: Resolve | undefined
}

const resolveBySystem: Resolve = async (hostname) => (await lookup(hostname, { all: true })).map(({ address }) => address)

/**
 * Connects only to addresses that `isAllowedAddress` admits. All addresses of a name must be, and the connection goes to a checked one.
 * Aborting the signal ends the attempt immediately.
 */
export function createGuardedConnect(
  { allowed, resolve = resolveBySystem }: Guard,
  signal: AbortSignal,
): buildConnector.connector {
  const lookupChecked: LookupFunction = (hostname, options, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const isGood = addresses.length > 0 && addresses.every((address) => isAllowedAddress(address, allowed))
        if (!isGood) return callback(new ForbiddenAddress(), [])
        const found = addresses.map((address) => ({ address, family: isIP(address) }))
        const [first] = found
        if (options.all === true) return callback(null, found)
        callback(null, first?.address ?? '', first?.family)
      },
      () => callback(new ForbiddenAddress(), []),
    )
  }
  const connect = buildConnector({ lookup: lookupChecked, timeout: 0 })
  return (options, callback) => {
    const hostname = options.hostname.replace(/^\[(.*)\]$/, '$1')
    // Node.js does not call `lookup` for an IP address.
    if (isIP(hostname) !== 0 && !isAllowedAddress(hostname, allowed)) return callback(new ForbiddenAddress(), null)
    const attempt: unknown = connect(options, (...result) => {
      const [error, socket] = result
      if (error === null && !isAllowedAddress(socket.remoteAddress ?? '', allowed)) {
        socket.destroy()
        return callback(new ForbiddenAddress(), null)
      }
      callback(...result)
    })
    signal.addEventListener('abort', () => destroy(attempt), { once: true })
  }
}

/**
 * The connector returns its socket, although its types do not say so. Destroyed with an error, since without one the connector would wait
 * for ever.
 */
function destroy(attempt: unknown): void {
  if (typeof attempt === 'object' && attempt !== null && 'destroy' in attempt && typeof attempt.destroy === 'function') {
    attempt.destroy(new Error('the fetch has ended'))
  }
}
