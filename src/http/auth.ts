import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { AppError } from '../contract/errors.ts'
import { type ApiKey, allScopes, type Principal, type Scope } from '../contract/principal.ts'

/** Finds a key by its hash (hexadecimal SHA-256), among keys that may be made and deleted while the server runs. */
export type FindKey = (hash: string) => { readonly scopes: readonly Scope[]; readonly name?: string } | undefined

/**
 * Identifies the principal of a request. Without keys and `findKey`, every caller gets all scopes; the composition root allows that on
 * loopback only. Throws `unauthorized`.
 */
export function createAuthenticator(apiKeys: readonly ApiKey[], findKey?: FindKey): (headers: IncomingHttpHeaders) => Principal {
  if (apiKeys.length === 0 && findKey === undefined) {
    const anyone: Principal = { id: 'anyone', scopes: allScopes }
    return () => anyone
  }
  const known = apiKeys.map(({ hash, name, scopes }) => {
    if (!/^[\da-f]{64}$/i.test(hash)) throw new Error('an API key hash must be 64 hexadecimal digits (SHA-256)')
    return { hash: Buffer.from(hash, 'hex'), principal: { id: name ?? `key-${hash.slice(0, 8)}`, scopes } }
  })
  return (headers) => {
    const keys = readKeys(headers)
    let principal: Principal | undefined
    for (const key of keys) {
      const hash = createHash('sha256').update(key).digest()
      // Compares all hashes, so that timing reveals nothing.
      for (const candidate of known) if (timingSafeEqual(hash, candidate.hash)) principal = candidate.principal
      const text = hash.toString('hex')
      const found = findKey?.(text)
      if (found === undefined) continue
      principal = { id: found.name ?? `key-${text.slice(0, 8)}`, scopes: new Set(['public', ...found.scopes]) }
    }
    if (principal !== undefined) return principal
    const problem = keys.length === 0 ? 'no API key was sent' : 'the API key is not valid'
    throw new AppError('unauthorized', `${problem}; send a key in the header 'authorization: Bearer KEY' or 'x-api-key: KEY'`)
  }
}

/** Throws `forbidden` when the principal lacks the scope, which `admin` includes. */
export function authorize(principal: Principal, scope: Scope): void {
  if (principal.scopes.has(scope) || principal.scopes.has('admin')) return
  const message = `this API key lacks the scope '${scope}', which this request requires; send a key that has it in server.apiKeys`
  throw new AppError('forbidden', message)
}

/** All keys of a request; SDKs that send two headers often put a placeholder in one of them. */
function readKeys(headers: IncomingHttpHeaders): readonly string[] {
  const bearer = /^bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1]
  const plain = headers['x-api-key']
  return [bearer, ...(Array.isArray(plain) ? plain : [plain])].filter((key) => key !== undefined && key !== '') as string[]
}
