import { createAuthenticator } from './auth.ts'
import { createCrossOrigin } from './cross-origin.ts'
import type { ServerDeps } from './deps.ts'
import { createHostCheck } from './hosts.ts'

/** Who may send requests, to which host names, and from which pages. */
export type AccessRules = Pick<ServerDeps, 'auth' | 'hosts' | 'allowedOrigins'>

/** The checks of these rules. */
export function createAccess({ auth, hosts, allowedOrigins = [] }: AccessRules) {
  return {
    checkHost: createHostCheck(hosts),
    crossOrigin: createCrossOrigin(allowedOrigins),
    authenticate: createAuthenticator(auth.apiKeys, auth.findKey),
  }
}
