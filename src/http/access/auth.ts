import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import { AppError } from '../../contract/errors.ts'
import { type ApiKey, allScopes, type Principal, reservedKeyName, type Scope } from '../../contract/principal.ts'

/** Finds a key by its hash (hexadecimal SHA-256), among keys that may be made and deleted while the server runs. */
export type FindKey = (hash: string) => ApiKey | undefined

export type KeyRules = {
  readonly apiKeys: readonly ApiKey[]
  readonly findKey?: FindKey
  /** Looks for keys that another server has just made, before an unknown one is refused. */
  readonly refresh?: () => Promise<void>
}

const anyone: Principal = { id: 'anyone', isAnyone: true, scopes: allScopes }

/** The owner of a key by its hash, or any caller where no keys are required; undefined: there is no such key, or it has expired. */
export function findPrincipal({ apiKeys, findKey }: KeyRules, hash: string | undefined, nowMs: number): Principal | undefined {
  if (apiKeys.length === 0 && findKey === undefined) return anyone
  const key = hash === undefined ? undefined : (apiKeys.find((one) => one.hash === hash) ?? findKey?.(hash))
  return key !== undefined && (key.expiresAtMs ?? Number.POSITIVE_INFINITY) > nowMs ? toPrincipal(key) : undefined
}

/**
 * Identifies the principal of a request. Without keys and `findKey`, every caller gets all scopes; the composition root allows that on
 * loopback only. `wallClock` is milliseconds of the epoch. Throws, or rejects with, `unauthorized`.
 */
export function createAuthenticator(
  { apiKeys, findKey, refresh }: KeyRules,
  wallClock = Date.now,
): (headers: IncomingHttpHeaders) => Principal | Promise<Principal> {
  if (apiKeys.length === 0 && findKey === undefined) {
    return () => anyone
  }
  const known = apiKeys.map((apiKey) => {
    if (!/^[\da-f]{64}$/i.test(apiKey.hash)) throw new Error('an API key hash must be 64 hexadecimal digits (SHA-256)')
    return { hash: Buffer.from(apiKey.hash, 'hex'), apiKey }
  })
  const find = (keys: readonly string[]): Principal | AppError => {
    let found: ApiKey | undefined
    let isExpired = false
    const take = (apiKey: ApiKey) => {
      if (apiKey.expiresAtMs === undefined || wallClock() < apiKey.expiresAtMs) found = apiKey
      else isExpired = true
    }
    for (const key of keys) {
      const hash = createHash('sha256').update(key).digest()
      // Compares all hashes, so that timing reveals nothing.
      for (const candidate of known) if (timingSafeEqual(hash, candidate.hash)) take(candidate.apiKey)
      const made = found === undefined ? findKey?.(hash.toString('hex')) : undefined
      if (made !== undefined) take(made)
    }
    if (found !== undefined) return toPrincipal(found)
    const expired = isExpired ? 'the API key has expired' : 'the API key is not valid'
    const problem = keys.length === 0 ? 'no API key was sent' : expired
    return new AppError('unauthorized', `${problem}; send a key in the header 'authorization: Bearer KEY' or 'x-api-key: KEY'`)
  }
  return (headers) => {
    const keys = readKeys(headers)
    const found = find(keys)
    if (!(found instanceof AppError)) return found
    if (refresh === undefined || keys.length === 0) throw found
    // If the store fails, the known keys decide.
    const again = refresh().catch(() => undefined)
    return again.then(() => orThrow(find(keys)))
  }
}

function orThrow(found: Principal | AppError): Principal {
  if (found instanceof AppError) throw found
  return found
}

function toPrincipal({ hash, name, scopes, models, tools, limits, group }: ApiKey): Principal {
  return {
    // Keys made earlier can have such a name.
    id: name === undefined || reservedKeyName.test(name) ? `key-${hash.slice(0, 8)}` : name,
    keyHash: hash,
    scopes,
    ...(models !== undefined && { models }),
    ...(tools !== undefined && { tools }),
    // Two keys with one name have separate limits.
    ...((limits ?? group) !== undefined && { quota: { account: hash, ...limits, ...(group !== undefined && { group }) } }),
  }
}

export type Authenticate = ReturnType<typeof createAuthenticator>

/** Who may use models with the keys of these headers. A socket asks before each message: a key may have been deleted since the last one. */
export async function identify(authenticate: Authenticate, headers: IncomingHttpHeaders): Promise<Principal> {
  const principal = await authenticate(headers)
  authorize(principal, 'inference')
  return principal
}

type Caller = { readonly headers: IncomingHttpHeaders; readonly principal?: Principal | undefined }

/** Whether the key of a caller still has the rights with which its request began: it may have been deleted since. */
export async function keepsRights(authenticate: Authenticate, { headers, principal }: Caller): Promise<boolean> {
  try {
    const now = await authenticate(headers)
    return isDeepStrictEqual([now.scopes, now.models], [principal?.scopes, principal?.models])
  } catch {
    return false
  }
}

/** Whether `identify` has refused. */
export function isKeyError({ code }: AppError): boolean {
  return code === 'unauthorized' || code === 'forbidden'
}

/** Throws `forbidden` when the principal lacks the scope, which `admin` includes. */
export function authorize(principal: Principal, scope: Scope): void {
  if (principal.scopes.has(scope) || principal.scopes.has('admin')) return
  const message = `this API key lacks the scope '${scope}', which this request requires; send a key that has it in server.apiKeys`
  throw new AppError('forbidden', message)
}

/** All keys of a request, right or wrong; SDKs that send two headers often put a placeholder in one of them. */
export function readKeys(headers: IncomingHttpHeaders): readonly string[] {
  // Some clients omit the word.
  const bearer = /^(?:bearer(?: +|$))?(\S*) *$/i.exec(headers.authorization ?? '')?.[1]
  // tabbyAPI's clients send the second header.
  const plain = [headers['x-api-key'], headers['x-admin-key']].flat()
  return [bearer, ...plain].filter((key) => key !== undefined && key !== '') as string[]
}
