import { createAuthenticator } from './auth.ts'
import { createCrossOrigin } from './cross-origin.ts'
import type { ServerDeps } from './deps.ts'
import { createHostCheck } from './hosts.ts'

/** Who may send requests, to which host names, and from which pages. */
export type AccessRules = Pick<ServerDeps, 'auth' | 'hosts' | 'allowedOrigins'>

/** The checks of these rules. Where keys are required, any host name will do: a page that rebinds its own has no key. */
export function createAccess({ auth, hosts, allowedOrigins = [] }: AccessRules) {
  const needsKey = auth.apiKeys.length > 0 || auth.findKey !== undefined
  return {
    checkHost: needsKey ? () => undefined : createHostCheck(hosts),
    crossOrigin: createCrossOrigin(allowedOrigins),
    authenticate: createAuthenticator(auth.apiKeys, auth.findKey),
  }
}
