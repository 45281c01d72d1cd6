import { AppError } from '../../contract/errors.ts'
import type { StoredFile } from '../../contract/file-store.ts'
import { invalidQuery } from '../wire/invalid.ts'
import type { DeletedFile, FileList, File as WireFile } from './replies.ts'

const purposes = ['vision', 'user_data']

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

/** A page of files. Throws `invalid-request` for an invalid query. */
export function encodeFileList(files: readonly StoredFile[], query: Readonly<Record<string, unknown>>): FileList {
  const { purpose, order = 'desc', after, limit } = query
  if (order !== 'asc' && order !== 'desc') throw invalidQuery('order', 'asc or desc', order)
  const size = limit === undefined ? 10_000 : Number(limit)
  if (!Number.isInteger(size) || size < 1 || size > 10_000) throw invalidQuery('limit', 'an integer from 1 to 10000', limit)
  const wanted = files.filter((file) => purpose === undefined || encodeFile(file).purpose === purpose)
  if (order === 'asc') wanted.reverse()
  const start = after === undefined ? 0 : wanted.findIndex(({ id }) => id === after) + 1
  if (after !== undefined && start === 0) throw invalidQuery('after', 'the id of one of your files', after)
  const page = wanted.slice(start, start + size)
  const data = page.map(encodeFile)
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: start + size < wanted.length,
  }
}

export function encodeDeletedFile(id: string): DeletedFile {
  return { id, object: 'file', deleted: true }
}
