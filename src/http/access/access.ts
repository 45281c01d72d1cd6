import { createAuthenticator, type KeyRules } from './auth.ts'
import { createCrossOrigin } from './cross-origin.ts'
import { createHostCheck, type HostPolicy } from './hosts.ts'

/** Who may send requests, to which host names, and from which pages. */
export type AccessRules = {
  /** The configured keys, and those that commands and requests make and delete. */
  readonly auth: KeyRules
  readonly hosts: HostPolicy
  /** Origins whose pages may use this server from a browser; `*` allows all, absent none. */
  readonly allowedOrigins?: readonly string[]
}

/** The checks of these rules. If keys are required, any host name will do: a page that rebinds its own has no key. */
export function createAccess({ auth, hosts, allowedOrigins = [] }: AccessRules) {
  const needsKey = auth.apiKeys.length > 0 || auth.findKey !== undefined
  return {
    checkHost: needsKey ? () => undefined : createHostCheck(hosts),
    crossOrigin: createCrossOrigin(allowedOrigins),
    authenticate: createAuthenticator(auth),
  }
}
