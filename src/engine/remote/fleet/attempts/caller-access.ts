import { hostOf } from '../../../../base/text/server-url.ts'
import type { CallerKeys } from '../../../../contract/caller-keys.ts'
import { AppError } from '../../../../contract/errors.ts'
import { field } from '../../../../contract/field.ts'
import type { ProfileName } from '../../servers/profile.ts'
import { providerAt } from '../../servers/providers.ts'
import type { Upstream } from '../../servers/upstream.ts'
import type { Endpoint } from '../../transport/client.ts'
import { hiding } from '../../transport/secrets.ts'
import { toAppError, UpstreamError } from '../../transport/upstream-error.ts'
import { nameOf } from '../retry/failure-table.ts'

type ServerAccess = { readonly endpoint: Endpoint; readonly upstream: Upstream }

/** A replica as seen by one request that brings its own key. */
export type CallerAccess = {
  /** The endpoint with the caller's key. A separate object, so that nothing is remembered about it. */
  readonly endpoint: Endpoint
  /**
   * The failure without the key. A failure caused by the key becomes an `AppError`: it is the caller's, and says nothing about the
   * replica's health.
   */
  clean(error: unknown): unknown
}

/** Undefined if the caller brings no key for this replica, whose own key is used then. */
export function callerAccess(keys: CallerKeys | undefined, { endpoint, upstream }: ServerAccess): CallerAccess | undefined {
  const apiKey = keys === undefined ? undefined : callerKeyFor(keys, endpoint, upstream.profile.name)
  if (apiKey === undefined) return undefined
  const hide = hiding(apiKey)
  return {
    endpoint: { ...endpoint, apiKey },
    clean: (error) => {
      if (error instanceof UpstreamError) return failureOfKey(error.withTexts(hide), endpoint)
      return error instanceof AppError ? cleanError(error, hide) : error
    },
  }
}

function failureOfKey(error: UpstreamError, { url }: Endpoint): Error {
  const { failure } = error
  if (nameOf(failure, 'callers') !== 'callers-key') return error
  // The rate limit of this key: other callers have their own.
  if (failure.type === 'status' && failure.status === 429) return toAppError(error)
  const message = `the server at ${hostOf(url)} does not accept the key in ${field('callerKeys')}: send another one`
  return new AppError('unauthorized', message, { at: ['callerKeys'] })
}

function cleanError(error: AppError, redact: (text: string) => string): AppError {
  const { code, template, at, param, retryAfterMs, overflow } = error
  return new AppError(code, redact(template), {
    ...(at !== undefined && { at }),
    ...(param !== undefined && { param: redact(param) }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(overflow !== undefined && { overflow }),
  })
}

/** A provider's name is that of its kind without the hyphen. */
function providerOfKind(kind: ProfileName): string {
  return kind.replaceAll('-', '_')
}

/**
 * The caller's key for a server: for the provider in its host name, else for its kind, else the key for any server, `passthrough`.
 * Undefined if the caller brings no such key.
 */
export function callerKeyFor(keys: CallerKeys, { url }: Pick<Endpoint, 'url'>, kind: ProfileName): string | undefined {
  return keys.get(providerAt(url) ?? providerOfKind(kind)) ?? keys.get('passthrough')
}
