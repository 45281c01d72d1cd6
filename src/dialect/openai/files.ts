import { z } from 'zod'
import { AppError } from '../../contract/errors.ts'
import type { FileWishes, StoredFile } from '../../contract/file-store.ts'
import { looseObject } from '../wire/first-fault.ts'
import { invalidQuery } from '../wire/invalid.ts'
import { validate } from '../wire/validate.ts'
import type { DeletedFile, FileList, File as WireFile } from './replies.ts'

const purposes = ['vision', 'user_data', 'batch']

const expiryError = 'an object {anchor: "created_at", seconds: 3600 to 2592000}'
export const expiresAfter = looseObject({
  anchor: z.literal('created_at', { error: expiryError }),
  seconds: z
    .number({ error: expiryError })
    .int({ error: expiryError })
    .min(3600, { error: expiryError })
    .max(2_592_000, { error: expiryError }),
})

/** The wishes of an upload. Throws `invalid-request` for any purpose but those that models read. */
export function readWishes(fields: ReadonlyMap<string, string>): FileWishes {
  const purpose = fields.get('purpose')
  if (purpose === undefined || !purposes.includes(purpose)) {
    const sent = purpose === undefined ? 'is missing' : `is '${purpose.slice(0, 40)}'`
    throw new AppError('invalid-request', `purpose ${sent}: expected one of ${purposes.join(', ')}`, { param: 'purpose' })
  }
  const [anchor, seconds] = lifetimeFields.map((name) => fields.get(name))
  if (anchor === undefined && seconds === undefined) return { purpose }
  const { expires_after } = validate(z.object({ expires_after: expiresAfter }), {
    expires_after: { anchor, seconds: Number(seconds) },
  })
  return { purpose, lifetimeMs: expires_after.seconds * 1000 }
}

const lifetimeFields = ['expires_after[anchor]', 'expires_after[seconds]'] as const
export const fileFields: readonly string[] = ['purpose', ...lifetimeFields]

export function encodeFile({ id, filename, sizeBytes, purpose = 'user_data', createdAtMs, expiresAtMs }: StoredFile): WireFile {
  const expiry = expiresAtMs === undefined ? {} : { expires_at: Math.floor(expiresAtMs / 1000) }
  const created_at = Math.floor(createdAtMs / 1000)
  return { id, object: 'file', bytes: sizeBytes, created_at, ...expiry, filename, purpose, status: 'processed' }
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
