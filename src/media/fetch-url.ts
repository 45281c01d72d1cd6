import type { AppError } from '../contract/errors.ts'
import type { MediaItem } from '../contract/media.ts'
import { checkUrl, FetchProblem, type GuardedFetchOptions, guardedFetch, notPublic } from './guarded-fetch.ts'
import { invalid } from './invalid.ts'
import { formatBytes } from './limits.ts'

export type FetchOptions = Omit<GuardedFetchOptions, 'maxRedirects' | 'larger' | 'accept'>

type FetchedMedia = { readonly bytes: Buffer; readonly mayBeKept: boolean; readonly declared?: string }

const maxRedirects = 3

/** The media behind a URL. Rejects with `invalid-request`, or the signal's reason. */
export async function fetchUrl(
  url: string,
  { item, signal }: { readonly item: MediaItem; readonly signal: AbortSignal },
  options: FetchOptions,
): Promise<FetchedMedia> {
  try {
    const { bytes, mayBeKept, contentType } = await guardedFetch(url, signal, { ...options, maxRedirects, larger: 'refuse' })
    const declared = contentType?.split(';', 1)[0]?.trim().toLowerCase()
    return { bytes, mayBeKept, ...(declared !== undefined && { declared }) }
  } catch (error) {
    throw error instanceof FetchProblem ? refused(item, error, options.maxBytes) : error
  }
}

/** Throws the errors of fetching a URL that the URL itself shows. */
export function checkMediaUrl(url: string, item: MediaItem, options: Pick<FetchOptions, 'domains'>): URL {
  try {
    return checkUrl(url, options)
  } catch (error) {
    throw error instanceof FetchProblem ? refused(item, error, 0) : error
  }
}

export function forbiddenAddress(item: MediaItem): AppError {
  return refused(item, notPublic(), 0)
}

function refused({ kind, at }: MediaItem, problem: FetchProblem, maxBytes: number): AppError {
  const { message, reason, cause } = problem
  switch (reason) {
    case 'address':
      return invalid(at, `${message}: only media on the Internet are fetched (media.allowedAddresses)`, cause)
    case 'host':
      return invalid(at, `${message} (media.allowedDomains)`, cause)
    case 'size':
      return invalid(at, `${message} (media.maxBytes.${kind}, ${formatBytes(maxBytes)}): send a smaller one`, cause)
    case 'other':
      return invalid(at, message, cause)
  }
}
