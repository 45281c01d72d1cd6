import { AppError } from '../../contract/errors.ts'
import type { StoredFile } from '../../contract/file-store.ts'
import { invalidQuery } from '../wire/invalid.ts'
import type { DeletedFile, FileList, File as WireFile } from './replies.ts'

const purposes = ['vision', 'user_data', 'batch']

/** The purpose of an upload. Throws for any but those that models read. */
export function readPurpose(fields: ReadonlyMap<string, string>): string {
  const purpose = fields.get('purpose')
  if (purpose !== undefined && purposes.includes(purpose)) return purpose
  const sent = purpose === undefined ? 'is missing' : `is '${purpose.slice(0, 40)}'`
  throw new AppError('invalid-request', `purpose ${sent}: expected one of ${purposes.join(', ')}`, { param: 'purpose' })
}

export function encodeFile({ id, filename, sizeBytes, purpose = 'user_data', createdAtMs }: StoredFile): WireFile {
  const created_at = Math.floor(createdAtMs / 1000)
  return { id, object: 'file', bytes: sizeBytes, created_at, filename, purpose, status: 'processed' }
}

type Query = Readonly<Record<string, unknown>>
type PageRules = { readonly ofWhat: string; readonly most: number; readonly usual: number }

/** A page of files. Throws `invalid-request` for an invalid query. */
export function encodeFileList(files: readonly StoredFile[], query: Query): FileList {
  const { purpose, order = 'desc' } = query
  if (order !== 'asc' && order !== 'desc') throw invalidQuery('order', 'asc or desc', order)
  const wanted = files.map(encodeFile).filter((file) => purpose === undefined || file.purpose === purpose)
  if (order === 'asc') wanted.reverse()
  return pageOf(wanted, query, { ofWhat: 'files', most: 10_000, usual: 10_000 })
}

/** The page of a whole list that a query asks for. Throws `invalid-request` for an invalid query. */
export function pageOf<T extends { readonly id: string }>(all: readonly T[], { after, limit }: Query, rules: PageRules) {
  const { ofWhat, most, usual } = rules
  const size = limit === undefined ? usual : Number(limit)
  if (!Number.isInteger(size) || size < 1 || size > most) throw invalidQuery('limit', `an integer from 1 to ${most}`, limit)
  const start = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1
  if (after !== undefined && start === 0) throw invalidQuery('after', `the id of one of your ${ofWhat}`, after)
  const data = all.slice(start, start + size)
  return {
    object: 'list' as const,
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: start + size < all.length,
  }
}

export function encodeDeletedFile(id: string): DeletedFile {
  return { id, object: 'file', deleted: true }
}
