import type { StoredFile } from '../../contract/file-store.ts'
import { invalidQuery } from '../wire/invalid.ts'
import type { AnthropicFile, AnthropicFileList, DeletedAnthropicFile } from './replies.ts'

export function encodeAnthropicFile({ id, filename, mediaType, sizeBytes, createdAtMs }: StoredFile): AnthropicFile {
  const created_at = new Date(createdAtMs).toISOString()
  return { type: 'file', id, filename, mime_type: mediaType, size_bytes: sizeBytes, created_at, downloadable: true }
}

type Query = Readonly<Record<string, unknown>>

/** A page of files, the newest first. Throws `invalid-request` for an invalid query. */
export function encodeAnthropicFiles(files: readonly StoredFile[], query: Query): AnthropicFileList {
  return pageOf(files.map(encodeAnthropicFile), query, 'files')
}

/** The page of a whole list that a query asks for. Throws `invalid-request` for an invalid query. */
export function pageOf<T extends { readonly id: string }>(all: readonly T[], query: Query, ofWhat: string) {
  const { limit, after_id: after, before_id: before } = query
  const size = limit === undefined ? 20 : Number(limit)
  if (!Number.isInteger(size) || size < 1 || size > 1000) throw invalidQuery('limit', 'an integer from 1 to 1000', limit)
  const placeOf = (id: unknown, param: string) => {
    const place = all.findIndex((one) => one.id === id)
    if (place === -1) throw invalidQuery(param, `the id of one of your ${ofWhat}`, id)
    return place
  }
  const end = before === undefined ? all.length : placeOf(before, 'before_id')
  const start = after !== undefined ? placeOf(after, 'after_id') + 1 : before === undefined ? 0 : Math.max(0, end - size)
  const page = all.slice(start, Math.min(end, start + size))
  const has_more = before === undefined ? start + size < all.length : start > 0
  return { data: page, has_more, first_id: page[0]?.id ?? null, last_id: page.at(-1)?.id ?? null }
}

export function encodeDeletedAnthropicFile(id: string): DeletedAnthropicFile {
  return { id, type: 'file_deleted' }
}
