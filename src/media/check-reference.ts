import { isIP } from 'node:net'
import { AppError } from '../contract/errors.ts'
import { field } from '../contract/field.ts'
import type { MediaItem } from '../contract/media.ts'
import { isAllowedAddress } from './address.ts'
import { checkMediaUrl, type FetchOptions, forbiddenAddress } from './fetch-url.ts'
import { isLocal, refuseLocal } from './local-file.ts'
import { parseDataUrl } from './parse-data-url.ts'
import { notADataUrl } from './read-inline.ts'

/** The sources that this server may read; an absent one is closed. */
type Sources = {
  readonly urls?: Pick<FetchOptions, 'allowed' | 'domains'>
  readonly folder?: string
  readonly files?: object
}

/** Throws the errors of reading a reference that show without opening anything. */
export function checkReference(item: MediaItem, { urls, folder, files }: Sources): void {
  const { source } = item
  if (source.type === 'file' && files === undefined) throw notStored(item)
  if (source.type !== 'url') return
  const { url } = source
  if (/^data:/i.test(url)) {
    if (parseDataUrl(url) === undefined) throw notADataUrl(item)
  } else if (isLocal(url)) {
    if (folder === undefined) throw refuseLocal(item)
  } else if (!/^https?:/i.test(url)) {
    throw unknownScheme(item, url)
  } else if (urls === undefined) {
    throw notFetched(item)
  } else {
    const host = checkMediaUrl(url, item, urls).hostname.replace(/^\[(.*)\]$/, '$1')
    if (isIP(host) !== 0 && !isAllowedAddress(host, urls.allowed)) throw forbiddenAddress(item)
  }
}

export function notFetched(item: MediaItem): AppError {
  return notRead(item, 'is not fetched here (media.urls)')
}

export function notStored(item: MediaItem): AppError {
  return notRead(item, 'is not stored here')
}

export function unknownScheme(item: MediaItem, url: string): AppError {
  return notRead(item, `'${url.length > 80 ? `${url.slice(0, 79)}…` : url}' is not fetched`)
}

function notRead({ kind, at }: MediaItem, problem: string): AppError {
  const message = `${field(...at)} ${problem}: send the ${kind} itself, as a data: URL (data:${kind}/...;base64,...)`
  return new AppError('unsupported-field', message, { at })
}
